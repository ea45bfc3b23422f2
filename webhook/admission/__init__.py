"""AdmissionReview in, AdmissionReview out; no web framework."""
