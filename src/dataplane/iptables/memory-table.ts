/** One table of the in-memory iptables. It throws a Refusal for what the tools or the kernel would refuse. */
import type { CountedRule, Table } from './iptables.ts'

const builtInChains: Readonly<Record<Table, readonly string[]>> = {
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
}

/** Targets that are not chains, and the built-in chains from which a packet may reach them. */
const targets: Readonly<Record<string, Partial<Record<Table, readonly string[]>>>> = {
  ACCEPT: builtInChains,
  // The tools refuse it in nat, which sees only the first packet of a connection.
  DROP: { filter: builtInChains.filter, mangle: builtInChains.mangle },
  RETURN: builtInChains,
  MARK: builtInChains,
  REJECT: { filter: builtInChains.filter },
  DNAT: { nat: ['PREROUTING', 'OUTPUT'] },
  SNAT: { nat: ['INPUT', 'POSTROUTING'] },
  REDIRECT: { nat: ['PREROUTING', 'OUTPUT'] },
  MASQUERADE: { nat: ['POSTROUTING'] },
}

const maxChainNameLength = 28

/** Rules as iptables-save prints them. */
type Chains = Map<string, string[]>

export class MemoryTable {
  readonly name: Table
  readonly #chains: Chains
  /** How many rules jump to a chain. Kept up to date, because counting at each deletion of a chain would be slow. */
  readonly #jumpsByTarget: Map<string, number>

  /** By `CHAIN RULE`: two rules that are alike share it, which the kernel's do not. */
  readonly #packetsByRule: Map<string, number>

  constructor(
    name: Table,
    chains: Chains = emptyChains(name),
    jumpsByTarget: ReadonlyMap<string, number> = new Map(),
    packetsByRule: ReadonlyMap<string, number> = new Map(),
  ) {
    this.name = name
    this.#chains = chains
    this.#jumpsByTarget = new Map(jumpsByTarget)
    this.#packetsByRule = new Map(packetsByRule)
  }

  copy(): MemoryTable {
    const chains = new Map([...this.#chains].map(([chain, rules]) => [chain, [...rules]]))
    return new MemoryTable(this.name, chains, this.#jumpsByTarget, this.#packetsByRule)
  }

  /** Returns false if there is no such rule. */
  count(chain: string, isMeant: (rule: string) => boolean, packets: number): boolean {
    const rule = this.#existing(chain).find(isMeant)
    if (rule === undefined) return false
    const id = `${chain} ${rule}`
    this.#packetsByRule.set(id, (this.#packetsByRule.get(id) ?? 0) + packets)
    return true
  }

  countedRules(): readonly CountedRule[] {
    return [...this.#chains].flatMap(([chain, rules]) =>
      rules.map((rule) => ({
        table: this.name,
        chain,
        rule,
        packets: this.#packetsByRule.get(`${chain} ${rule}`) ?? 0,
      })),
    )
  }

  hasChain(chain: string): boolean {
    return this.#chains.has(chain)
  }

  hasRule(chain: string, rule: string): boolean {
    return this.#chains.get(chain)?.includes(rule) ?? false
  }

  /** A copy. */
  rulesOf(chain: string): readonly string[] | undefined {
    return this.#chains.get(chain)?.slice()
  }

  addChain(chain: string): void {
    if (this.#chains.has(chain)) throw new Refusal('Chain already exists')
    if (chain.length > maxChainNameLength) throw new Refusal(`chain name "${chain}" is too long`)
    if (chain in targets) throw new Refusal(`chain name "${chain}" is the name of a target`)
    this.#chains.set(chain, [])
  }

  /** The chain line of a restore. It makes or empties a user-defined chain, but leaves the rules of a built-in one. */
  declareChain(chain: string): void {
    if (!this.#chains.has(chain)) this.addChain(chain)
    else if (!this.#isBuiltIn(chain)) this.flushChain(chain)
  }

  flushChain(chain: string): void {
    for (const rule of this.#existing(chain).splice(0)) {
      this.#countJump(rule, -1)
      this.#packetsByRule.delete(`${chain} ${rule}`)
    }
  }

  deleteChain(chain: string): void {
    if (this.#isBuiltIn(chain)) throw new Refusal(`chain ${chain} is built in`)
    if (this.#existing(chain).length > 0) throw new Refusal(`chain ${chain} is not empty`)
    if ((this.#jumpsByTarget.get(chain) ?? 0) > 0) throw new Refusal(`a rule jumps to chain ${chain}`)
    this.#chains.delete(chain)
  }

  appendRule(chain: string, rule: string, packets = 0): void {
    this.#mustResolve(rule)
    this.#existing(chain).push(rule)
    this.#countJump(rule, 1)
    this.#setPackets(chain, rule, packets)
  }

  insertRule(chain: string, rule: string, packets = 0): void {
    this.#mustResolve(rule)
    this.#existing(chain).unshift(rule)
    this.#countJump(rule, 1)
    this.#setPackets(chain, rule, packets)
  }

  deleteRule(chain: string, rule: string): void {
    const rules = this.#existing(chain)
    const at = rules.indexOf(rule)
    if (at < 0) throw new Refusal('Bad rule (does a matching rule exist in that chain?)', 'not-found')
    rules.splice(at, 1)
    this.#countJump(rule, -1)
    this.#packetsByRule.delete(`${chain} ${rule}`)
  }

  /** What the kernel checks in a whole table: no loops, and no target that is not allowed at a hook. */
  check(): void {
    for (const hook of builtInChains[this.name]) this.#checkBelow(hook, hook, [], new Set())
  }

  /** As the tools do: the built-in chains, the others sorted by name, then the rules of all chains in that order. */
  save(): string {
    const own = [...this.#chains.keys()].filter((chain) => !this.#isBuiltIn(chain)).sort()
    const chains = [...builtInChains[this.name], ...own]
    const lines = [`*${this.name}`]
    for (const chain of chains) lines.push(`:${chain} ${this.#isBuiltIn(chain) ? 'ACCEPT' : '-'} [0:0]`)
    for (const chain of chains) for (const rule of this.#existing(chain)) lines.push(`-A ${chain} ${rule}`.trimEnd())
    return [...lines, 'COMMIT', ''].join('\n')
  }

  #checkBelow(hook: string, chain: string, path: readonly string[], done: Set<string>): void {
    if (path.includes(chain)) throw new Refusal(`chain ${chain} jumps to itself through ${path.join(', ')}`)
    if (done.has(chain)) return
    for (const rule of this.#existing(chain)) {
      const target = targetOf(rule)
      if (target === undefined) continue
      if (this.#chains.has(target)) this.#checkBelow(hook, target, [...path, chain], done)
      else if (targets[target]?.[this.name]?.includes(hook) !== true)
        throw new Refusal(`target ${target} of chain ${chain} is not allowed below ${hook}`)
    }
    done.add(chain)
  }

  #countJump(rule: string, by: number): void {
    const target = targetOf(rule)
    if (target !== undefined) this.#jumpsByTarget.set(target, (this.#jumpsByTarget.get(target) ?? 0) + by)
  }

  #setPackets(chain: string, rule: string, packets: number): void {
    if (packets > 0) this.#packetsByRule.set(`${chain} ${rule}`, packets)
  }

  #mustResolve(rule: string): void {
    const target = targetOf(rule)
    if (target === undefined) return
    if (this.#isBuiltIn(target)) throw new Refusal(`a rule cannot jump to the built-in chain ${target}`)
    if (this.#chains.has(target)) return
    if (!(target in targets)) throw new Refusal(`Chain '${target}' does not exist`, 'not-found')
    if (targets[target]?.[this.name] === undefined) throw new Refusal(`table ${this.name} has no target ${target}`)
  }

  #existing(chain: string): string[] {
    const rules = this.#chains.get(chain)
    if (rules === undefined) throw new Refusal('No chain/target/match by that name', 'not-found')
    return rules
  }

  #isBuiltIn(chain: string): boolean {
    return builtInChains[this.name].includes(chain)
  }
}

/** Why a table refuses a change. The caller knows the command and the line, and makes an IptablesError from it. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly reason: 'refused' | 'not-found'

  constructor(message: string, reason: Refusal['reason'] = 'refused') {
    super(message)
    this.reason = reason
  }
}

function emptyChains(table: Table): Chains {
  return new Map(builtInChains[table].map((chain) => [chain, []]))
}

/** Canonical rules end with the target and its options, which are never quoted. A comment may contain " -j ". */
function targetOf(rule: string): string | undefined {
  const at = rule.startsWith('-j ') ? 0 : rule.lastIndexOf(' -j ') + 1
  const words = rule.slice(at)
  return !words.startsWith('-j ') || words.includes('"') ? undefined : words.split(' ')[1]
}
