/** `fairlead migrate --check`: what a move from a kube-proxy to Fairlead changes. It reads files, and nothing else. */
import { text as readStream } from 'node:stream/consumers'
import { inGroup } from '../../config/flags/flag.ts'
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import * as type from '../../config/flags/flag-types.ts'
import type { Host } from '../host/host.ts'
import type { Program } from '../program.ts'
import { paint } from '../terminal.ts'
import { visible, visibleData } from '../visible.ts'
import { compare } from './compare.ts'
import { readGiven } from './read-given.ts'
import type { Input } from './read-given.ts'
import { renderJson, renderText } from './report.ts'

export const migrateFlags = inGroup('Migrate', {
  check: {
    type: type.bool,
    default: false,
    help: 'Say what will differ. Fairlead changes nothing by itself: this is all there is.',
  },
  from: {
    type: type.strings,
    default: [],
    help: 'The configuration of kube-proxy: a KubeProxyConfiguration, its ConfigMap, DaemonSet or static pod as YAML or JSON, a k3s configuration, or - for standard input. Repeatable.',
  },
  'to-mode': {
    type: type.oneOf(['same', 'iptables', 'ipvs', 'nftables', 'ebpf', 'userspace', 'kernelspace']),
    default: 'same',
    help: 'The mode that Fairlead will have: iptables, ipvs, nftables, ebpf, userspace, kernelspace, or same (that of kube-proxy).',
  },
  output: {
    type: type.oneOf(['text', 'json']),
    short: 'o',
    default: 'text',
    help: 'text for people, json for programs.',
  },
})

const usage = `Says what will differ when Fairlead takes the place of a kube-proxy, and how to go back. Needs no cluster.

Usage:
  fairlead migrate --check --from=FILE [--to-mode=MODE]
  kubectl get -n kube-system cm/kube-proxy ds/kube-proxy -o yaml | fairlead migrate --check --from=-

Exit code: 0 if nothing needs a decision, 1 if something does, 2 if the configuration cannot be read.
`

export async function migrateCommand(argv: readonly string[], program: Program): Promise<number> {
  const { host } = program
  const read = parseFlags(migrateFlags, argv, host.platform)
  if (!read.ok) return cannot(read.problem, program)
  if (read.wantsHelp) {
    program.out(`${usage}\n${renderFlagHelp(migrateFlags, host.platform, program.stdout.columns)}`)
    return 0
  }
  const { check, from, output, 'to-mode': toMode } = read.values
  if (!check) return cannot('add --check: it says what will differ. The move itself is in docs/migrate.md', program)
  if (from.length === 0 || read.positionals.length > 0)
    return cannot('say where the configuration of kube-proxy is: --from=FILE, or --from=- for standard input', program)
  const inputs: Input[] = []
  for (const path of from) {
    try {
      inputs.push({ name: path === '-' ? 'standard input' : path, text: await textAt(path, host) })
    } catch (error) {
      return cannot(`cannot read ${path}: ${(error as Error).message}`, program)
    }
  }
  const found = readGiven(inputs)
  if (!found.ok) return cannot(found.problem, program)
  const compared = compare(found.given, toMode)
  if (!compared.ok) return cannot(compared.problem, program)
  const { comparison } = compared
  program.out(output === 'json' ? renderJson(comparison) : renderText(visibleData(comparison), program.stdout))
  return comparison.differences.some(({ attention }) => attention === 'decide') ? needsDecision : 0
}

const needsDecision = 1
const noAnswer = 2

function textAt(path: string, host: Host): Promise<string> {
  return path === '-' ? readStream(process.stdin) : host.readTextFile(path)
}

/** Not 1, which says that there is something to decide. */
function cannot(problem: string, program: Program): number {
  program.err(`${paint(program.stderr, 'red', 'Error:')} ${visible(problem)}\n`)
  return noAnswer
}
