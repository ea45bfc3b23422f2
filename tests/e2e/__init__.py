"""Tests against a real control plane: etcd and kube-apiserver, driven with kubectl as people do it."""
