/** Parses input for iptables-restore. It knows the commands that Fairlead writes. */
import { IptablesError } from './iptables.ts'

export type RestoreCommand =
  | { readonly kind: 'begin'; readonly table: string }
  | { readonly kind: 'commit' }
  | { readonly kind: 'declare'; readonly chain: string }
  | { readonly kind: 'new' | 'flush' | 'delete-chain'; readonly chain: string }
  | {
      readonly kind: 'append' | 'insert' | 'delete-rule'
      readonly chain: string
      readonly rule: string
      /** What the rule has counted already: `[3:180] -A …`. */
      readonly packets: number
    }

export interface RestoreLine {
  /** From 1. */
  readonly line: number
  readonly text: string
  readonly command: RestoreCommand
}

export function* restoreLines(input: string): Generator<RestoreLine> {
  let line = 0
  for (const text of input.split('\n')) {
    line++
    if (text === '' || text.startsWith('#')) continue
    const command = commandFrom(text)
    if (command === undefined)
      throw new IptablesError('refused', `iptables-restore refused line ${line}, "${text}": unknown command`, { line })
    yield { line, text, command }
  }
}

function commandFrom(text: string): RestoreCommand | undefined {
  if (text === 'COMMIT') return { kind: 'commit' }
  if (text.startsWith('*')) return { kind: 'begin', table: text.slice(1) }
  const declared = /^:(\S+) (?:-|ACCEPT|DROP)(?: \[\d+:\d+\])?$/.exec(text)?.[1]
  if (declared !== undefined) return { kind: 'declare', chain: declared }
  const [, packets = '0', flag = '', chain = '', rule = ''] =
    /^(?:\[(\d+):\d+\] )?(-[A-Z]) (\S+)(?: (.*))?$/.exec(text) ?? []
  const onChain = chainCommands[flag]
  if (onChain !== undefined) return { kind: onChain, chain }
  const onRule = ruleCommands[flag]
  // A position may follow -I. Only the first one, which is the default, is known here.
  if (onRule === undefined) return undefined
  const plain = onRule === 'insert' ? rule.replace(/^1(?: |$)/, '') : rule
  return { kind: onRule, chain, rule: plain, packets: Number(packets) }
}

const chainCommands: Readonly<Record<string, 'new' | 'flush' | 'delete-chain'>> = {
  '-N': 'new',
  '-F': 'flush',
  '-X': 'delete-chain',
}

const ruleCommands: Readonly<Record<string, 'append' | 'insert' | 'delete-rule'>> = {
  '-A': 'append',
  '-I': 'insert',
  '-D': 'delete-rule',
}
