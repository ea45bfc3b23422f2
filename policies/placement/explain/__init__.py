"""Why a pod goes where it goes or fits nowhere, and what would help."""
