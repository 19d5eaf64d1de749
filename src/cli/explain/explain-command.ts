/** `fairlead explain`: what becomes of a connection, and why; asked of the running proxy, or of objects in files. */
import { inGroup } from '../../config/flags/flag.ts'
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import * as type from '../../config/flags/flag-types.ts'
import { explain } from '../../core/explain/explain.ts'
import type { Answer, Explanation } from '../../core/explain/explanation.ts'
import { parseQuestion } from '../../core/explain/parse-question.ts'
import type { AskedTexts } from '../../core/explain/parse-question.ts'
import { families } from '../../net/ip.ts'
import { askForJson } from '../ask/ask-daemon.ts'
import { askFlags } from '../ask/ask-flags.ts'
import { readObjectsOnNode } from '../offline/objects-on-node.ts'
import { offlineFlags, offlineNode } from '../offline/offline-flags.ts'
import type { OfflineValues } from '../offline/offline-flags.ts'
import { plainLogger } from '../plain-logger.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { answerText, mainOf } from './answer-text.ts'
import { explainWorld } from './explain-world.ts'
import { withPieces } from './pieces-of-entrance.ts'
import { visibleData } from '../visible.ts'

export const explainFlags = {
  ...inGroup('Question', {
    from: {
      type: type.text,
      default: '',
      help: 'The client: outside, host (this node), pod (one on this node) or its IP address. Empty: a pod for cluster IPs, outside for others.',
    },
    namespace: { type: type.text, short: 'n', default: 'default', help: 'The namespace of the Service.' },
    port: { type: type.text, default: '', help: 'The port of the Service, by name or number. Empty: all of them.' },
  }),
  ...inGroup('Running proxy', askFlags),
  ...inGroup('Objects in files, instead of the running proxy', {
    ...offlineFlags({
      mode: 'The mode to explain.',
      node: 'The node to explain for. Empty: the host name.',
    }),
  }),
}

const about = 'Says what becomes of a connection to a Service on this node, and why.'
const usage = `Usage:
  fairlead explain IP:PORT[/udp] [--from=CLIENT]        an address: a cluster IP, an external IP, …
  fairlead explain service/NAME [-n NAMESPACE] [--port=NAME]
  fairlead explain node-port NUMBER[/udp]
  fairlead explain … --objects=PATH --proxy-mode=MODE   without a running proxy

Exit code: 0 if something answers, 2 if nothing does, 1 if the question cannot be answered.
`

export async function explainCommand(argv: readonly string[], program: Program, signal: AbortSignal): Promise<number> {
  const { host } = program
  const read = parseFlags(explainFlags, argv, host.platform)
  if (!read.ok) throw new CommandError(read.problem)
  if (read.wantsHelp) {
    program.out(`${about}\n\n${usage}\n${renderFlagHelp(explainFlags, host.platform, program.stdout.columns)}`)
    return 0
  }
  const { values } = read
  const { from, namespace, port, server, output, objects } = values
  const texts = { target: read.positionals.join(' '), from, namespace, port }
  const answer =
    objects.length === 0
      ? await fromDaemon(texts, server, program, signal)
      : await fromFiles(texts, objects, values, program)
  program.out(
    output === 'json' ? `${JSON.stringify(answer, undefined, 2)}\n` : answerText(visibleData(answer), program.stdout),
  )
  return answer.explanations.some(({ verdict }) => verdict.kind === 'forward') ? 0 : nothingAnswers
}

/** Not 1: the command has done what it was asked. */
const nothingAnswers = 2

type Explained = Extract<Answer, { ok: true }>

async function fromDaemon(
  texts: AskedTexts,
  server: string,
  { host }: Program,
  signal: AbortSignal,
): Promise<Explained> {
  // What cannot be read is said without asking anybody.
  const parsed = parseQuestion(texts)
  if (!parsed.ok) throw new CommandError(parsed.problem)
  const value = await askForJson('/debug/explain', { ...texts }, { server, host }, signal)
  if (isExplained(value)) return value
  throw new CommandError('the running proxy is of another version: use the command of that version')
}

function isExplained(value: unknown): value is Explained {
  return typeof value === 'object' && value !== null && 'explanations' in value && Array.isArray(value.explanations)
}

async function fromFiles(
  texts: AskedTexts,
  objects: readonly string[],
  values: OfflineValues,
  program: Program,
): Promise<Explained> {
  const { host } = program
  const parsed = parseQuestion(texts)
  if (!parsed.ok) throw new CommandError(parsed.problem)
  const request = await offlineNode(values, host)
  const { mode, config, ebpf } = request
  using progress = program.progress('reading objects')
  const node = await readObjectsOnNode(objects, request, { host, log: plainLogger(program) })
  const world = explainWorld({
    catalog: node.catalog,
    traits: () => mode.traits(config, ebpf),
    settings: node.settings,
    tables: families.map((family) => ({ family, table: node.routes(family) })),
  })
  progress[Symbol.dispose]()
  const answer = explain(parsed.question, world)
  if (!answer.ok) throw new CommandError(answer.message)
  const planned = (explanation: Explanation): Explanation => {
    const { service, family } = explanation
    const view = world.families.find((it) => it.family === family)?.table.view
    if (service === undefined || view === undefined) return explanation
    return withPieces(explanation, mode.pieces(view, node.settings, service.key))
  }
  const main = mainOf(answer.explanations)
  return { ...answer, explanations: answer.explanations.map((it) => (it === main ? planned(it) : it)) }
}
