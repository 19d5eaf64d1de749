/** The settings of a node as kube-proxy's defaults make them, with the pods of the cluster known by their range. */
import { podRange } from '../core/cluster-objects.ts'
import { assumedSettings } from '../../../src/backends/iptables/settings-source.ts'
import type { IptablesSettings } from '../../../src/backends/iptables/settings.ts'

export const benchSettings: IptablesSettings = assumedSettings({
  family: 'ipv4',
  localTraffic: { kind: 'cidr', cidr: podRange },
  masqueradeAll: false,
  masqueradeMark: '0x00004000',
  localhostNodePorts: true,
  nodePortAddresses: [],
  dropsInvalid: true,
  localIps: () => [],
})
