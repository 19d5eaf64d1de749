/** A chain of ours as text. It is one string, because a large cluster has tens of thousands of them in memory. */
import { refuseExtraLines } from '../refuse-control-characters.ts'
import { renderInto } from './render-rule.ts'
import type { Chain } from './rule.ts'

export interface RenderedChain {
  readonly name: string
  /** A line `-A NAME …` for each rule. */
  readonly lines: string
  readonly ruleCount: number
}

export function renderChain({ name, rules }: Chain): RenderedChain {
  const pieces: string[] = []
  for (const rule of rules) {
    pieces.push('-A ', name, ' ')
    renderInto(pieces, rule)
    pieces.push('\n')
  }
  const lines = pieces.join('')
  refuseExtraLines(lines, rules.length)
  return { name, lines, ruleCount: rules.length }
}

/** The lines one by one, without `-A NAME`, to compare them with those that the kernel printed. */
export function rulesOf({ name, lines }: RenderedChain): readonly string[] {
  const start = `-A ${name} `.length
  return lines
    .split('\n')
    .slice(0, -1)
    .map((line) => line.slice(start))
}
