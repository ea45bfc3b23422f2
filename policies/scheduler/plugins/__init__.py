"""The plugins of kube-scheduler, a module or a package each, named as below its ``framework/plugins``."""
