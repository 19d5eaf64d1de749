/** Where each piece of evidence is read from on this machine. */
import type { DaemonOptions } from '../../config/daemon/parse-daemon-command-line.ts'
import type { Host } from '../host/host.ts'
import type { Mode } from '../modes/mode.ts'
import type { EvidenceReaders } from './evidence.ts'
import { readApi } from './evidence/api.ts'
import { readBridges } from './evidence/bridges.ts'
import { readCapabilities } from './evidence/capabilities.ts'
import { readCluster } from './evidence/cluster.ts'
import { readConfinement } from './evidence/confinement.ts'
import { readDaemon } from './evidence/daemon.ts'
import { readEbpf } from './evidence/ebpf.ts'
import { readFolders } from './evidence/folders.ts'
import { readForeignRules } from './evidence/foreign-rules.ts'
import { readHns } from './evidence/hns.ts'
import { readIptables } from './evidence/iptables.ts'
import { readIpvs } from './evidence/ipvs.ts'
import { readLeftovers } from './evidence/leftovers.ts'
import { readLimits } from './evidence/limits.ts'
import { readListeners } from './evidence/listeners.ts'
import { readNft } from './evidence/nft.ts'
import { readProcesses } from './evidence/processes.ts'
import { readRuleChanges } from './evidence/rule-changes.ts'
import { readSettings } from './evidence/settings.ts'
import { readTools } from './evidence/tools.ts'
import type { Setup } from './setup.ts'

export interface EvidenceOptions {
  readonly setup: Setup
  readonly options: Pick<DaemonOptions, 'master' | 'nodeAddresses'>
  readonly mode: Mode
  /** Where to ask for debug pages; empty: the metrics port. */
  readonly server: string
  readonly host: Host
}

export function evidenceReaders({ setup, options, mode, server, host }: EvidenceOptions): EvidenceReaders {
  const { config } = setup
  const { kubeconfig } = config.clientConnection
  const { master, nodeAddresses } = options
  const readsNamespaces = config.fairlead.externalIPGuardNamespaces
  const place = { kubeconfig, master, readsNamespaces, isFromFiles: setup.objects.length > 0 }
  return {
    api: (_, signal) => readApi(place, host, signal),
    bridges: () => readBridges(host),
    capabilities: () => readCapabilities(host),
    cluster: (_, signal) => readCluster(setup, { ...place, mode, nodeAddresses }, host, signal),
    confinement: () => readConfinement(host, setup),
    daemon: (_, signal) => readDaemon(config, server, host, signal),
    ebpf: (_, signal) => readEbpf(host, setup, signal),
    folders: () => readFolders(setup),
    foreignRules: (read, signal) => readForeignRules(host, setup, () => read('iptables'), signal),
    hns: (_, signal) => readHns(host, config.winkernel.networkName || (host.env['KUBE_NETWORK'] ?? ''), signal),
    iptables: (_, signal) => readIptables(host, setup, signal),
    ipvs: (_, signal) => readIpvs(host, signal),
    leftovers: (_, signal) => readLeftovers(host, setup, signal),
    limits: async (read) => {
      const [daemon] = (await read('processes').catch(() => undefined))?.fairleads ?? []
      return readLimits(host, setup.isBeforeStart ? undefined : daemon?.pid)
    },
    listeners: async (read) => readListeners(host, (await read('processes')).all),
    nft: (_, signal) => readNft(host, setup, signal),
    processes: () => readProcesses(host),
    ruleChanges: (_, signal) => readRuleChanges(host, signal),
    settings: () => readSettings(host),
    tools: (_, signal) => readTools(host, signal),
  }
}
