/**
 * Weights of endpoints, as an annotation has them: `zone:a=3, node:old-7=0, ip:10.64.0.9=2, *=1`. The first rule that an
 * endpoint fits counts; without one its weight is 1.
 */
import { parseIp } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import type { NumberRange, ProblemNotes } from './field-checks.ts'
import type { SliceEndpoint, WeightRule, WeightRules } from './records.ts'

export const weightRange: NumberRange = { min: 0, max: 1_000 }
const mostWeightRules = 100
export const usualWeight = 1

/** All or nothing: half of the weights is not what anybody meant. */
export function parseWeights(text: string, field: string, notes: ProblemNotes): WeightRules | undefined {
  const rules: WeightRule[] = []
  for (const part of text.split(',')) {
    if (part.trim() === '') continue
    const rule = parseRule(part.trim())
    if (typeof rule === 'string') {
      notes.problem(field, rule)
      return undefined
    }
    rules.push(rule)
  }
  if (rules.length > 0 && rules.length <= mostWeightRules) return rules
  notes.problem(field, `must have from 1 to ${mostWeightRules} rules such as zone:a=3, not ${rules.length}`)
  return undefined
}

/** What is wrong with it, if it is none. */
function parseRule(text: string): WeightRule | string {
  const [, selector = '', digits = ''] = /^(.*\S)\s*=\s*(\d{1,4})$/.exec(text) ?? []
  const weight = Number(digits)
  if (selector === '' || weight > weightRange.max)
    return `${shownValue(text)} must be zone:NAME, node:NAME, ip:ADDRESS or *, then = and a weight from ${weightRange.min} to ${weightRange.max}`
  if (selector === '*') return { of: 'every', name: '', weight }
  const [, of = '', name = ''] = /^(zone|node|ip):(\S+)$/.exec(selector) ?? []
  if (of === 'zone' || of === 'node') return { of, name, weight }
  const ip = of === 'ip' ? parseIp(name) : undefined
  if (ip !== undefined) return { of: 'ip', name: ip, weight }
  return of === 'ip'
    ? `${shownValue(name)} is not an IP address`
    : `${shownValue(selector)} must be zone:NAME, node:NAME, ip:ADDRESS or *`
}

/** Undefined: no rule is about it. */
export function weightIn(
  rules: WeightRules | undefined,
  endpoint: Pick<SliceEndpoint, 'ip' | 'nodeName' | 'zone'>,
): number | undefined {
  return rules?.find((rule) => fits(rule, endpoint))?.weight
}

function fits(
  { of, name }: WeightRule,
  { ip, nodeName, zone }: Pick<SliceEndpoint, 'ip' | 'nodeName' | 'zone'>,
): boolean {
  switch (of) {
    case 'zone':
      return zone === name
    case 'node':
      return nodeName === name
    case 'ip':
      return ip === name
    case 'every':
      return true
    default:
      return of satisfies never
  }
}
