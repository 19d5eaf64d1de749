/** The text of a transaction, as `nft -f` reads it: one operation per line. */
import type { Family } from '../../../net/ip.ts'
import { tableName } from '../nft.ts'
import type { Chain, FieldType, NftOperation, NftTransaction, SetDeclaration, SetElement } from '../nft.ts'
import { commentText } from '../comment-text.ts'
import { refuseControlCharacter } from '../refuse-control-character.ts'
import { renderRule } from '../render-rule.ts'

export interface ScriptOptions {
  /** False for kernels before 5.10 and nft before 0.9.7, which know comments of rules and elements only. */
  readonly hasObjectComments?: boolean
}

/** Few enough that nft can point at one of them in an error, enough that the words around them cost nothing. */
const elementsPerLine = 500

export function renderScript(family: Family, transaction: NftTransaction, options: ScriptOptions = {}): string {
  const hasObjectComments = options.hasObjectComments ?? true
  const lines: string[] = []
  for (const operation of transaction) addLines(lines, family, operation, hasObjectComments)
  // Before they are joined: afterwards nobody can tell a line too many.
  lines.forEach(refuseControlCharacter)
  lines.push('')
  return lines.join('\n')
}

export function nftFamily(family: Family): 'ip' | 'ip6' {
  return family === 'ipv4' ? 'ip' : 'ip6'
}

/** How nft calls it in commands. */
export function kindOf({ value }: Pick<SetDeclaration, 'value'>): 'set' | 'map' {
  return value === undefined ? 'set' : 'map'
}

function addLines(lines: string[], family: Family, operation: NftOperation, hasObjectComments: boolean): void {
  const table = `${nftFamily(family)} ${tableName}`
  const comment = (text: string) => (hasObjectComments && text !== '' ? [`comment "${commentText(text)}"`] : [])
  switch (operation.do) {
    case 'add table':
      lines.push(`add table ${table}${block(comment(operation.comment))}`)
      return
    case 'delete table':
      lines.push(`delete table ${table}`)
      return
    case 'add chain': {
      const { chain } = operation
      lines.push(`add chain ${table} ${chain.name}${block([...hookClause(chain), ...comment(chain.comment)])}`)
      return
    }
    case 'flush chain':
    case 'delete chain':
      lines.push(`${operation.do} ${table} ${operation.name}`)
      return
    case 'add rule':
      lines.push(`add rule ${table} ${operation.chain} ${renderRule(operation.rule, family)}`)
      return
    case 'add set': {
      const { set } = operation
      lines.push(`add ${kindOf(set)} ${table} ${set.name}${block([...setClauses(set), ...comment(set.comment)])}`)
      return
    }
    case 'delete set':
      lines.push(`delete ${kindOf(operation.set)} ${table} ${operation.set.name}`)
      return
    case 'add elements':
      addElementLines(lines, `add element ${table} ${operation.set.name}`, operation.elements, renderElement)
      return
    case 'delete elements':
      addElementLines(lines, `delete element ${table} ${operation.set.name}`, operation.keys, (key) => key)
      return
    default:
      operation satisfies never
  }
}

function block(clauses: readonly string[]): string {
  return clauses.length === 0 ? '' : ` { ${clauses.join(' ; ')} ; }`
}

/** The number and not its name: old nft refuses the name "dstnat" on the output hook. */
function hookClause({ hook }: Chain): string[] {
  return hook === undefined ? [] : [`type ${hook.type} hook ${hook.hook} priority ${hook.priority}`]
}

function setClauses(set: SetDeclaration): string[] {
  const flags = [
    ...(set.isInterval === true ? ['interval'] : []),
    ...(set.timeoutSeconds === undefined ? [] : ['dynamic', 'timeout']),
    ...(set.keepsConnections === true ? ['dynamic'] : []),
  ]
  return [
    typeClause(set),
    ...(flags.length === 0 ? [] : [`flags ${flags.join(',')}`]),
    ...(set.timeoutSeconds === undefined ? [] : [`timeout ${set.timeoutSeconds}s`]),
    ...(set.hasCounter === true ? ['counter'] : []),
  ]
}

/** A number picked by `numgen` has no type that could be named, so its place is described by an example. */
function typeClause({ key, value }: SetDeclaration): string {
  const fields = value === undefined || value === 'verdict' ? key : [...key, ...value]
  const isByExample = fields.includes('index')
  const render = (types: readonly FieldType[]) =>
    types.map((type) => (isByExample ? exampleOf[type] : type)).join(' . ')
  const valueText = value === undefined ? '' : ` : ${value === 'verdict' ? value : render(value)}`
  return `${isByExample ? 'typeof' : 'type'} ${render(key)}${valueText}`
}

const exampleOf: Readonly<Record<FieldType, string>> = {
  ipv4_addr: 'ip daddr',
  ipv6_addr: 'ip6 daddr',
  inet_proto: 'meta l4proto',
  inet_service: 'th dport',
  index: 'numgen random mod 2',
}

function addElementLines<T>(lines: string[], start: string, items: readonly T[], render: (item: T) => string): void {
  for (let at = 0; at < items.length; at += elementsPerLine)
    lines.push(
      `${start} { ${items
        .slice(at, at + elementsPerLine)
        .map(render)
        .join(', ')} }`,
    )
}

/** As nft prints it, without what it has counted. */
export function renderElement({ key, value, comment }: SetElement): string {
  const commented = comment === undefined || comment === '' ? key : `${key} comment "${commentText(comment)}"`
  return value === undefined ? commented : `${commented} : ${value}`
}
