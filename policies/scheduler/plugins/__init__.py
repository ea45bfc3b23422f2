"""The plugins of kube-scheduler, in modules and packages named as below its ``framework/plugins``.

Those that look at one property of a node each are together in ``nodes``.
"""
