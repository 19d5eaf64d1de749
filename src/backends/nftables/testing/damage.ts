/** What others may do to the table. */
import fc from 'fast-check'
import type { NftOperation, NftTransaction, SetDeclaration } from '../../../dataplane/nft/nft.ts'
import { rule } from '../../../dataplane/nft/rule.ts'
import type { RecordingTable } from './recording-table.ts'

export interface Damage {
  readonly kind:
    | 'the table is gone'
    | 'another table has its name'
    | 'a chain is empty'
    | 'a rule too much'
    | 'elements are gone'
    | 'elements lead elsewhere'
    | 'elements too much'
    | 'chains and sets too much'
  /** Which chain or set it hits. */
  readonly which: number
}

export const anyDamage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom(
    'the table is gone',
    'another table has its name',
    'a chain is empty',
    'a rule too much',
    'elements are gone',
    'elements lead elsewhere',
    'elements too much',
    'chains and sets too much',
  ),
  which: fc.nat(1000),
})

const never = new AbortController().signal

export async function applyDamage(table: RecordingTable, damage: Damage): Promise<void> {
  await table.damage(await transactionOf(table, damage))
}

async function transactionOf(table: RecordingTable, { kind, which }: Damage): Promise<NftTransaction> {
  const { chains = [], sets = [] } = (await table.list(never)) ?? {}
  const chain = chains[which % chains.length]
  const setName = sets[which % sets.length]
  // There is nothing left to damage.
  if (chain === undefined || setName === undefined) return []
  const set = table.declarationOf(setName)
  const elements = [...(await table.elements(set, never))].map(([key, { value }]) => ({ key, value }))
  switch (kind) {
    case 'the table is gone':
      return [{ do: 'delete table' }]
    case 'another table has its name':
      return [
        { do: 'delete table' },
        { do: 'add table', comment: 'of somebody else' },
        { do: 'add set', set: { name: 'services', key: ['inet_service'], comment: '' } },
      ]
    case 'a chain is empty':
      return [{ do: 'flush chain', name: chain }]
    case 'a rule too much':
      return [{ do: 'add rule', chain, rule: rule({ kind: 'drop' }) }]
    case 'elements are gone':
      return [
        deletion(
          set,
          elements.filter((_, index) => index % 2 === which % 2).map(({ key }) => key),
        ),
      ]
    case 'elements lead elsewhere': {
      if (set.value !== 'verdict') return []
      const others = elements.map(({ key }) => ({ key, value: 'drop' }))
      return [
        deletion(
          set,
          elements.map(({ key }) => key),
        ),
        { do: 'add elements', set, elements: others },
      ]
    }
    case 'elements too much':
      return [
        add(table, 'services', '192.0.2.99 . tcp . 99', '2001:db8::99 . tcp . 99', 'drop'),
        add(table, 'endpoints', '192.0.2.99 . tcp . 99 . 0', '2001:db8::99 . tcp . 99 . 0', [
          '192.0.2.99 . 9',
          '::9 . 9',
        ]),
        add(table, 'cluster-ips', '192.0.2.99', '2001:db8::99'),
        add(table, 'service-cidrs', '192.0.2.0/24', '2001:db8:99::/64'),
        add(table, 'source-ranges', '192.0.2.99 . udp . 99 . 192.0.2.0/24', '::99 . udp . 99 . 2001:db8:99::/64'),
      ]
    case 'chains and sets too much':
      return [
        { do: 'add chain', chain: { name: 'stranger', comment: '' } },
        { do: 'add chain', chain: { name: 'other-stranger', comment: '' } },
        { do: 'add set', set: { name: 'strange-set', key: ['inet_service'], comment: '' } },
        { do: 'add set', set: { name: 'strange-map', key: ['inet_service'], value: 'verdict', comment: '' } },
        {
          do: 'add rule',
          chain: 'stranger',
          rule: rule(
            { kind: 'in set', fields: ['port'], set: 'strange-set' },
            { kind: 'goto', chain: 'other-stranger' },
          ),
        },
        {
          do: 'add rule',
          chain: 'other-stranger',
          rule: rule({ kind: 'look up verdict', fields: ['port'], map: 'strange-map' }),
        },
        add(table, 'services', '192.0.2.98 . tcp . 98', '2001:db8::98 . tcp . 98', 'goto stranger'),
      ]
    default:
      return kind satisfies never
  }
}

function deletion(set: SetDeclaration, keys: readonly string[]): NftOperation {
  return { do: 'delete elements', set, keys }
}

function add(
  table: RecordingTable,
  name: string,
  ipv4Key: string,
  ipv6Key: string,
  value?: string | readonly [ipv4: string, ipv6: string],
): NftOperation {
  const set = table.declarationOf(name)
  const isIpv4 = set.key[0] === 'ipv4_addr'
  const text = typeof value === 'object' ? value[isIpv4 ? 0 : 1] : value
  return {
    do: 'add elements',
    set,
    elements: [{ key: isIpv4 ? ipv4Key : ipv6Key, ...(text !== undefined && { value: text }) }],
  }
}
