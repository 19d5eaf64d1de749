/** A whole answer for people: one explanation in full, many as a table. */
import type { Answer, Explanation } from '../../core/explain/explanation.ts'
import { entranceWords } from '../../core/explain/entrance-words.ts'
import { verdictText } from '../../core/explain/words.ts'
import { renderTable } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { explanationText } from './explanation-text.ts'
import { destinationText, sourceText } from './phrases.ts'

type Explained = Extract<Answer, { ok: true }>

export function answerText({ explanations }: Explained, terminal: Terminal): string {
  const main = mainOf(explanations)
  if (main !== undefined) return explanationText(main, terminal)
  const rows = explanations.map((explanation) => {
    const { service, entrance, destination, source, others } = explanation
    const unused = others.filter(({ why }) => why !== 'other family').length
    return [
      service === undefined ? '-' : `${service.portName || service.port}/${service.protocol}`,
      entrance?.kind === 'node-port'
        ? destinationText(destination)
        : `${entrance === undefined ? 'address' : entranceWords[entrance.kind]} ${destinationText(destination)}`,
      sourceText(source),
      `${verdictText(explanation)}${unused === 0 ? '' : ` (${unused} more ${unused === 1 ? 'does' : 'do'} not answer)`}`,
    ]
  })
  const [first] = explanations
  const name = first?.service === undefined ? '' : `Service ${first.service.namespace}/${first.service.name} `
  const head = first === undefined ? '' : `${name}on ${first.node.name} (${first.mode})\n\n`
  const table = renderTable(['PORT', 'ADDRESS', 'FROM', 'RESULT'], rows, terminal.columns)
  return `${head}${table}\nAsk for one of the addresses, or with --port, to learn why.\n`
}

/** The only one; or, for one port of a Service in one family, the way in that such a client takes. */
export function mainOf(explanations: readonly Explanation[]): Explanation | undefined {
  const [first] = explanations
  const isOneRoute = explanations.every(
    ({ family, service }) => family === first?.family && service !== undefined && service.key === first?.service?.key,
  )
  if (explanations.length === 1 || first === undefined) return first
  if (!isOneRoute) return undefined
  const { place } = first.source
  const isOutside = place === 'outside' || place === 'pod elsewhere'
  return (isOutside ? explanations.find(({ entrance }) => entrance?.kind !== 'cluster-ip') : undefined) ?? first
}
