"""The plugins of kube-scheduler, in modules and packages named as below its ``framework/plugins``.

Those that look at one property each are together in ``nodes``.
"""
