/** The flags of commands that work on objects in files, and the node that they describe. */
import { completeOptions } from '../../config/daemon/complete-options.ts'
import { ebpfDefaults, ebpfOptions, ebpfPlanFlags, ebpfProblem } from '../../config/daemon/ebpf-flags.ts'
import type { EbpfOptions } from '../../config/daemon/ebpf-flags.ts'
import {
  externalIPCidrsHelp,
  externalIPGuardHelp,
  externalIPGuardNamespacesHelp,
  localhostNodePortsFlag,
  strictSourceRangesHelp,
} from '../../config/daemon/fairlead-flags.ts'
import { parseDaemonCommandLine } from '../../config/daemon/parse-daemon-command-line.ts'
import * as type from '../../config/flags/flag-types.ts'
import { systemOf } from '../../config/platform.ts'
import { guardModes } from '../../config/proxy-config.ts'
import type { GuardMode, ProxyConfig } from '../../config/proxy-config.ts'
import { loadConfig } from '../daemon/load-config.ts'
import type { Host } from '../host/host.ts'
import { findMode } from '../modes/find-mode.ts'
import { CommandError } from '../program.ts'
import type { NodeRequest } from './objects-on-node.ts'

/** Each command says in its own words what it does with the mode and the node. */
export function offlineFlags({ mode, node }: { readonly mode: string; readonly node: string }) {
  return {
    'proxy-mode': { type: type.text, default: '', help: mode },
    objects: {
      type: type.strings,
      default: [] as readonly string[],
      help: 'Files or directories of Kubernetes objects, or - for standard input. Repeatable.',
    },
    config: { type: type.text, default: '', help: 'A KubeProxyConfiguration file.' },
    'node-name': { type: type.text, default: '', help: node },
    'node-address': {
      type: type.ips,
      default: [] as readonly string[],
      help: "The node's IP addresses, instead of those of its Node object. Repeatable.",
    },
    'strict-source-ranges': { type: type.bool, default: false, help: strictSourceRangesHelp },
    'external-ip-guard': { type: type.oneOf(guardModes), default: 'warn' as const, help: externalIPGuardHelp },
    'external-ip-cidrs': { type: type.cidrs, default: [] as readonly string[], help: externalIPCidrsHelp },
    'external-ip-guard-namespaces': { type: type.bool, default: false, help: externalIPGuardNamespacesHelp },
    'localhost-nodeports': localhostNodePortsFlag,
    ...ebpfPlanFlags,
    'hns-network-type': {
      type: type.oneOf(['auto', 'L2Bridge', 'Overlay']),
      default: 'auto' as const,
      help: 'In kernelspace mode, the type of the HNS network: L2Bridge, Overlay, or auto (Overlay if winkernel.sourceVip is set).',
    },
  }
}

export interface OfflineValues {
  readonly 'proxy-mode': string
  readonly config: string
  readonly 'node-name': string
  readonly 'node-address': readonly string[]
  readonly 'strict-source-ranges': boolean
  readonly 'external-ip-guard': GuardMode
  readonly 'external-ip-cidrs': readonly string[]
  readonly 'external-ip-guard-namespaces': boolean
  readonly 'localhost-nodeports': 'auto' | 'true' | 'false'
  readonly 'hns-network-type': NodeRequest['hnsNetworkType']
  readonly 'ebpf-scope': EbpfOptions['scope']
  readonly 'ebpf-udp': EbpfOptions['udp']
  readonly 'ebpf-localhost-node-ports': boolean
  readonly 'ebpf-untracked-pods': readonly string[]
}

export async function offlineNode(values: OfflineValues, host: Host): Promise<NodeRequest> {
  const { config, platform } = await configOf(values, host)
  return {
    mode: await findMode(config.mode, platform),
    config,
    nodeName: values['node-name'] || config.hostnameOverride || host.hostname().toLowerCase(),
    nodeAddresses: values['node-address'],
    hnsNetworkType: values['hns-network-type'],
    ebpf: ebpfOf(values),
  }
}

function ebpfOf(values: OfflineValues): EbpfOptions {
  const all = { ...ebpfDefaults, ...values }
  const problem = ebpfProblem(all)
  if (problem !== undefined) throw new CommandError(problem)
  return ebpfOptions(all)
}

/** The file's settings, but the mode of the command line: one file can be rendered for every mode. */
async function configOf(
  values: OfflineValues,
  host: Host,
): Promise<{ readonly config: ProxyConfig; readonly platform: NodeJS.Platform }> {
  const flag = values['proxy-mode']
  const args = [`--config=${values.config}`, `--proxy-mode=${flag}`, ...policyFlags(values)]
  const parsed = parseDaemonCommandLine(args, host.platform)
  if (parsed.kind !== 'run') throw new CommandError(`--config=${values.config} cannot be used`)
  const override = flag === '' ? undefined : flag
  const configFile = host.findFile(values.config)
  const completed = await completeOptions({ ...parsed.options, configFile }, host, override)
  // Only to print a plan, it need not be the system of this machine.
  const platform = (completed.ok ? systemOf(completed.config.mode) : undefined) ?? host.platform
  const { findFile } = host
  const readTextFile = (path: string) => host.readTextFile(path)
  const { config } = await loadConfig(parsed.options, { platform, findFile, readTextFile }, override)
  return { config, platform }
}

/** Those with another value than the default: it is left to the file. */
function policyFlags(values: OfflineValues): readonly string[] {
  const { 'external-ip-guard': guard, 'external-ip-cidrs': cidrs, 'localhost-nodeports': localhost } = values
  return [
    ...(values['strict-source-ranges'] ? ['--strict-source-ranges'] : []),
    ...(guard === 'warn' ? [] : [`--external-ip-guard=${guard}`]),
    ...(values['external-ip-guard-namespaces'] ? ['--external-ip-guard-namespaces'] : []),
    ...(localhost === 'auto' ? [] : [`--localhost-nodeports=${localhost}`]),
    ...(cidrs.length === 0 ? [] : [`--external-ip-cidrs=${cidrs.join(',')}`]),
  ]
}
