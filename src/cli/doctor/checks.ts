/** Every check, in the order in which findings of one severity are told: causes before what follows from them. */
import type { Check } from './check.ts'
import { api, clock } from './checks/api.ts'
import { bridgeNetfilter } from './checks/bridge-netfilter.ts'
import { capabilitiesLegacy } from './checks/capabilities-legacy.ts'
import { capabilities } from './checks/capabilities.ts'
import { conntrack } from './checks/conntrack.ts'
import { daemon } from './checks/daemon.ts'
import { folders } from './checks/folders.ts'
import { foreignRules } from './checks/foreign-rules.ts'
import { forwarding } from './checks/forwarding.ts'
import { iptablesVariants } from './checks/iptables-variants.ts'
import { ipvsSettings } from './checks/ipvs-settings.ts'
import { kernelEbpf } from './checks/kernel-ebpf.ts'
import { kernelIptables } from './checks/kernel-iptables.ts'
import { kernelIpvs } from './checks/kernel-ipvs.ts'
import { kernelNftables } from './checks/kernel-nftables.ts'
import { leftovers } from './checks/leftovers.ts'
import { limits } from './checks/limits.ts'
import { localhostNodePorts } from './checks/localhost-node-ports.ts'
import { nodeObject } from './checks/node-object.ts'
import { ownPorts } from './checks/own-ports.ts'
import { nodePorts } from './checks/ports.ts'
import { ruleChanges } from './checks/rule-changes.ts'
import { selinux } from './checks/selinux.ts'
import { serviceAddresses } from './checks/service-addresses.ts'
import { services } from './checks/services.ts'
import { tools } from './checks/tools.ts'
import { twoProxies } from './checks/two-proxies.ts'
import { administrator, windows } from './checks/windows.ts'

export const checks: readonly Check[] = [
  administrator,
  capabilities,
  capabilitiesLegacy,
  tools,
  kernelNftables,
  kernelEbpf,
  kernelIptables,
  kernelIpvs,
  windows,
  forwarding,
  bridgeNetfilter,
  conntrack,
  ipvsSettings,
  localhostNodePorts,
  limits,
  selinux,
  folders,
  api,
  clock,
  nodeObject,
  twoProxies,
  daemon,
  ownPorts,
  leftovers,
  iptablesVariants,
  foreignRules,
  ruleChanges,
  nodePorts,
  serviceAddresses,
  services,
]
