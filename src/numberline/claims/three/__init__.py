"""The claims about three numbers, one file each.

The paper scores three numbers by position recovery, for their IIA is near zero in two cases. So do these: pooled
recoveries, each as a share of what the whole residual at the same place recovers.
"""
