import { kubernetesVersion } from '../config/kubernetes-version.ts'
import type { Host } from './host/host.ts'
import { fairleadVersion } from './program.ts'

/** Scripts look for the release of kube-proxy that this stands in for; people want to know what really runs. */
export function renderVersion(format: 'plain' | 'raw', host: Pick<Host, 'platform' | 'process'>): string {
  const { major, minor, patch } = kubernetesVersion
  const kubernetes = `v${major}.${minor}.${patch}`
  const fairlead = fairleadVersion()
  if (format === 'plain') return `Kubernetes ${kubernetes} (Fairlead ${fairlead})\n`
  const raw = {
    major: String(major),
    minor: String(minor),
    gitVersion: kubernetes,
    fairleadVersion: fairlead,
    nodeVersion: host.process.nodeVersion,
    platform: `${host.platform}/${host.process.architecture}`,
  }
  return `${JSON.stringify(raw)}\n`
}
