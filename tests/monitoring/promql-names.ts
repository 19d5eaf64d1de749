/** The names of metrics and labels in a PromQL expression. That it is valid at all is for Prometheus itself to say. */

export interface PromqlNames {
  /** Each as it stands, with the labels that its matchers name. */
  readonly metrics: readonly { readonly name: string; readonly labels: readonly string[] }[]
  /** What `by`, `on` and their like name. */
  readonly groupedBy: readonly string[]
}

const groupings = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right'])
const operators = new Set(['and', 'or', 'unless', 'bool', 'offset', 'atan2', 'inf', 'nan'])
const aggregations = new Set('sum min max avg group stddev stdvar count count_values bottomk topk quantile'.split(' '))
const token = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|#[^\n]*|[a-zA-Z_:][\w:]*|[\d.][\w.]*|\S/g

export function promqlNames(expression: string): PromqlNames {
  const tokens = (expression.match(token) ?? []).filter((text) => !text.startsWith('#'))
  const metrics: { name: string; labels: string[] }[] = []
  const groupedBy: string[] = []
  /** The tokens from here to the one that closes, and moves behind it. */
  let at = 0
  const until = (closing: string): readonly string[] => {
    const end = tokens.indexOf(closing, at)
    const inside = tokens.slice(at, end)
    at = end + 1
    return inside
  }
  while (at < tokens.length) {
    const text = tokens[at++] ?? ''
    const next = tokens[at]
    if (text === '[') until(']')
    else if (text === '{') metrics.at(-1)?.labels.push(...until('}').filter(isName))
    else if (!isName(text) || operators.has(text.toLowerCase())) continue
    else if (groupings.has(text.toLowerCase())) {
      if (next !== '(') continue
      at++
      groupedBy.push(...until(')').filter(isName))
    } else if (next !== '(' && !aggregations.has(text)) metrics.push({ name: text, labels: [] })
  }
  return { metrics, groupedBy }
}

function isName(text: string): boolean {
  return /^[a-zA-Z_:]/.test(text)
}
