/** The contents of a MemoryNftTable, and what the kernel allows to be done with them. */
import { MemorySet } from './memory-set.ts'
import { NftError } from '../nft.ts'
import type { Chain, FoundElement, NftErrorReason, NftOperation, NftTransaction, TableListing } from '../nft.ts'
import type { Rule } from '../rule.ts'
import type { Family } from '../../../net/ip.ts'

interface Contents {
  comment: string
  readonly chains: Map<string, MemoryChain>
  readonly sets: Map<string, MemorySet>
}

interface MemoryChain {
  readonly declaration: Chain
  readonly rules: Rule[]
}

/** Takes one step back. */
type Undo = () => void

export class MemoryTable {
  #contents: Contents | undefined

  /** All of it or nothing. What it returns takes all of it back. */
  apply(transaction: NftTransaction): Undo {
    const undos: Undo[] = []
    const undo = () => {
      for (const step of undos.splice(0).reverse()) step()
    }
    try {
      for (const operation of transaction) this.#apply(operation, undos)
    } catch (error) {
      undo()
      throw error
    }
    return undo
  }

  list(): TableListing | undefined {
    if (this.#contents === undefined) return undefined
    const { comment, chains, sets } = this.#contents
    return { comment, chains: [...chains.keys()], sets: [...sets.keys()] }
  }

  elements(set: string): ReadonlyMap<string, FoundElement> {
    return this.#contents?.sets.get(set)?.elements ?? new Map()
  }

  /** That of its sets. */
  get family(): Family {
    const sets = [...(this.#contents?.sets.values() ?? [])]
    return sets.some((set) => set.holds('ipv6_addr')) ? 'ipv6' : 'ipv4'
  }

  rulesOf(chain: string): readonly Rule[] | undefined {
    return this.#contents?.chains.get(chain)?.rules
  }

  count(set: string, key: string, packets: number): void {
    this.#contents?.sets.get(set)?.count(key, packets)
  }

  #apply(operation: NftOperation, undos: Undo[]): void {
    switch (operation.do) {
      case 'add table':
        this.#contents ??= this.#newContents(operation.comment, undos)
        return
      case 'delete table': {
        const contents = this.#open()
        this.#contents = undefined
        undos.push(() => (this.#contents = contents))
        return
      }
      case 'add chain':
        return this.#addChain(operation.chain, undos)
      case 'flush chain': {
        const { rules } = this.#chain(operation.name)
        const old = rules.splice(0)
        undos.push(() => rules.push(...old))
        return
      }
      case 'delete chain':
        return this.#deleteChain(operation.name, undos)
      case 'add rule':
        return this.#addRule(operation.chain, operation.rule, undos)
      case 'add set': {
        const { sets } = this.#open()
        const { set } = operation
        const old = sets.get(set.name)
        if (old?.isLike(set) === false) throw refusal('exists', `${set.name} already exists with another definition`)
        if (old !== undefined) return
        sets.set(set.name, new MemorySet(set))
        undos.push(() => sets.delete(set.name))
        return
      }
      case 'delete set':
        return this.#deleteSet(operation.set.name, undos)
      case 'add elements': {
        const set = this.#set(operation.set.name)
        for (const element of operation.elements) {
          const target = /^(?:goto|jump) (\S+)$/.exec(element.value ?? '')?.[1]
          if (target !== undefined && !this.#open().chains.has(target))
            throw refusal('missing', `${element.key} leads to ${target}, which does not exist`)
          undos.push(set.add(element))
        }
        return
      }
      case 'delete elements': {
        const set = this.#set(operation.set.name)
        for (const key of operation.keys) undos.push(set.delete(key))
        return
      }
      default:
        operation satisfies never
    }
  }

  #newContents(comment: string, undos: Undo[]): Contents {
    undos.push(() => (this.#contents = undefined))
    return { comment, chains: new Map(), sets: new Map() }
  }

  #addChain(chain: Chain, undos: Undo[]): void {
    const { chains } = this.#open()
    const old = chains.get(chain.name)
    // Without a hook nothing is asked of a chain that is there.
    if (old !== undefined && chain.hook !== undefined && !isSameHook(old.declaration, chain))
      throw refusal('exists', `chain ${chain.name} already exists with another hook`)
    if (old !== undefined) return
    chains.set(chain.name, { declaration: chain, rules: [] })
    undos.push(() => chains.delete(chain.name))
  }

  #deleteChain(name: string, undos: Undo[]): void {
    const { chains, sets } = this.#open()
    const chain = this.#chain(name)
    // Its own rules go with it.
    const isInRules = [...chains.values()].some(
      (other) => other !== chain && other.rules.some((rule) => chainsIn(rule).includes(name)),
    )
    if (isInRules || [...sets.values()].some((set) => set.leadsTo(name)))
      throw refusal('busy', `chain ${name} is in use`)
    chains.delete(name)
    undos.push(() => chains.set(name, chain))
  }

  #addRule(chain: string, rule: Rule, undos: Undo[]): void {
    const { rules } = this.#chain(chain)
    for (const target of chainsIn(rule)) this.#chain(target)
    for (const set of setsIn(rule)) this.#set(set)
    rules.push(rule)
    undos.push(() => rules.pop())
  }

  #deleteSet(name: string, undos: Undo[]): void {
    const { chains, sets } = this.#open()
    const set = this.#set(name)
    if ([...chains.values()].some(({ rules }) => rules.some((rule) => setsIn(rule).includes(name))))
      throw refusal('busy', `${name} is in use`)
    sets.delete(name)
    undos.push(() => sets.set(name, set))
  }

  #open(): Contents {
    if (this.#contents === undefined) throw refusal('missing', 'there is no table')
    return this.#contents
  }

  #chain(name: string): MemoryChain {
    return this.#open().chains.get(name) ?? fail('missing', `there is no chain ${name}`)
  }

  #set(name: string): MemorySet {
    return this.#open().sets.get(name) ?? fail('missing', `there is no set or map ${name}`)
  }
}

function isSameHook({ hook: left }: Chain, { hook: right }: Chain): boolean {
  return left?.type === right?.type && left?.hook === right?.hook && left?.priority === right?.priority
}

/** Those that it leads to. */
function chainsIn({ statements }: Rule): readonly string[] {
  return statements.flatMap((statement) => ('chain' in statement ? [statement.chain] : []))
}

function setsIn({ statements }: Rule): readonly string[] {
  return statements.flatMap((statement) => {
    if ('set' in statement) return [statement.set]
    return 'map' in statement ? [statement.map] : []
  })
}

function refusal(reason: NftErrorReason, why: string): NftError {
  return new NftError(reason, `cannot change the table in memory: ${why}`)
}

function fail(reason: NftErrorReason, why: string): never {
  throw refusal(reason, why)
}
