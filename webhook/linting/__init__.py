"""What ``evenkeel lint`` does with the texts it reads: rules asked, in one process or two."""
