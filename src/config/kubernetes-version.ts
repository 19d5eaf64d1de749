/** The release of kube-proxy that Fairlead replaces: `--version` reports it, and gates and metrics follow it. */
export const kubernetesVersion = { major: 1, minor: 36, patch: 4 } as const
