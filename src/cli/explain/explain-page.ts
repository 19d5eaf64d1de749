/** `/debug/explain?target=…&from=…&namespace=…&port=…`: what `fairlead explain` asks a running proxy. */
import { explain } from '../../core/explain/explain.ts'
import type { Answer, Explanation, FoundService, Observed } from '../../core/explain/explanation.ts'
import { parseQuestion } from '../../core/explain/parse-question.ts'
import type { World } from '../../core/explain/world.ts'
import type { Inspection } from '../../core/inspection.ts'
import type { RouteKey } from '../../core/route.ts'
import type { Family } from '../../net/ip.ts'
import type { ToldAnswer } from '../../observe/console/wire.ts'
import { refused } from '../../observe/http/debug/debug-page.ts'
import type { DebugAnswer, DebugPage } from '../../observe/http/debug/debug-page.ts'
import { noTerminal } from '../terminal.ts'
import { answerText, mainOf } from './answer-text.ts'
import { tellExplanation, verdictSentence } from './explanation-text.ts'
import { withInspection } from './pieces-of-entrance.ts'

export interface ExplainPageOptions {
  readonly world: () => World
  /** What the data plane holds for a route; undefined where the mode cannot tell. */
  readonly inspect?: (family: Family, key: RouteKey, signal: AbortSignal) => Promise<Inspection | undefined>
  /** What the running process has seen of a route. */
  readonly observe?: (family: Family, service: FoundService) => Promise<Observed | undefined>
}

export function explainPage(options: ExplainPageOptions): DebugPage {
  return {
    path: '/debug/explain',
    about:
      'what becomes of a connection, and why: ?target=IP:PORT/udp, service/NAME or node-port/NUMBER, ?from=outside|host|pod|IP, ?namespace=, ?port=',
    async answer({ query }, signal) {
      const text = (name: string) => query.get(name) ?? ''
      const parsed = parseQuestion({
        target: text('target'),
        from: text('from'),
        namespace: text('namespace') || 'default',
        port: text('port'),
      })
      if (!parsed.ok) return refused(400, parsed.problem)
      const answer = explain(parsed.question, options.world())
      if (!answer.ok) return refusal(answer)
      const full = { ...answer, explanations: await withFindings(answer.explanations, options, signal) }
      if (text('output') === 'text') return { kind: 'text', text: answerText(full, noTerminal) }
      return { kind: 'json', value: text('output') === 'told' ? toldAnswer(full) : full }
    },
  }
}

type Explained = Extract<Answer, { ok: true }>

function toldAnswer(answer: Explained): Explained & ToldAnswer {
  const main = mainOf(answer.explanations)
  return {
    ...answer,
    ...(main && { told: tellExplanation(main) }),
    verdicts: answer.explanations.map(verdictSentence),
    text: answerText(answer, noTerminal),
  }
}

function refusal({ kind, message }: Extract<Answer, { ok: false }>): DebugAnswer {
  return refused(kind === 'mistake' ? 400 : 404, message)
}

/** Reads the data plane for the one that is told in full: a Service with hundreds of ports must not cost as many looks. */
async function withFindings(
  explanations: readonly Explanation[],
  { inspect, observe }: ExplainPageOptions,
  signal: AbortSignal,
): Promise<readonly Explanation[]> {
  const main = mainOf(explanations)
  if (main?.service === undefined) return explanations
  const { family, service } = main
  const inspection = await inspect?.(family, service.key, signal)
  const observed = await observe?.(family, service)
  const read = inspection === undefined ? main : withInspection(main, inspection)
  const full = { ...read, ...(observed && { observed }) }
  return explanations.map((it) => (it === main ? full : it))
}
