/** The dummy link that makes the addresses of Services local. It is never set up: that is not needed. */
export const ipvsLink = 'kube-ipvs0'
