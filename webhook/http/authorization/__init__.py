"""Who may use the routes that show what runs in a cluster: Kubernetes decides."""
