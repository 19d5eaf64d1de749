import { expect, test } from 'vitest'
import { renderRule } from './render-rule.ts'
import { renderChain } from './rendered-chain.ts'
import type { Rule } from './rule.ts'

const evil: Rule = { matches: [{ kind: 'comment', text: 'demo/x\nCOMMIT' }], target: { kind: 'return' } }

test('a rule with a line of its own in it is not written', () => {
  const refused = { name: 'IptablesError', message: expect.stringContaining(String.raw`demo/x\nCOMMIT`) as string }
  expect(() => renderRule(evil)).toThrow(expect.objectContaining(refused))
  expect(() => renderChain({ name: 'KUBE-SVC-X', rules: [evil] })).toThrow(expect.objectContaining(refused))
})
