/** The release of kube-proxy that Fairlead stands in for: what `--version` reports and what gates and metrics follow. */
export const kubernetesVersion = { major: 1, minor: 36, patch: 4 } as const
