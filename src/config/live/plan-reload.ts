/** Compares the running configuration with the one of a changed file, field by field. */
import { isDeepStrictEqual } from 'node:util'
import { isGateOn } from '../feature-gates.ts'
import type { FeatureGates, UsedGate } from '../feature-gates.ts'
import { renderGoDuration } from '../../net/go-duration.ts'
import type { ProxyConfig } from '../proxy-config.ts'
import { howFieldsChange } from './how-fields-change.ts'
import type { Effect, FieldEntry, GatesEntry, HowItChanges } from './how-fields-change.ts'

export interface FieldChange {
  /** As the file calls it, e.g. `nftables.syncPeriod`. */
  readonly field: string
  readonly from: string
  readonly to: string
}

interface LiveChange extends FieldChange {
  readonly effect: Effect
}

export interface HeldChange extends FieldChange {
  readonly because: string
}

export interface ReloadPlan {
  /** What changes now. */
  readonly live: readonly LiveChange[]
  /** What stays as it runs until the process is started again. */
  readonly restart: readonly HeldChange[]
  /** What runs afterwards: complete, and with the running values of the fields that wait for a restart. */
  readonly config: ProxyConfig
}

/**
 * `next` is the file as if it had the running mode, but for `mode` itself: other modes have other defaults and sections.
 * `unable`: fields that cannot change here although they are live, each with the reason.
 */
export function planReload(
  running: ProxyConfig,
  next: ProxyConfig,
  unable: ReadonlyMap<string, string> = new Map(),
): ReloadPlan {
  const live: LiveChange[] = []
  const held: HeldChange[] = []
  const note = (change: FieldChange, how: HowItChanges) => {
    if (how.kind === 'live') live.push({ ...change, effect: how.effect })
    else held.push({ ...change, because: how.because })
  }
  const config = mergeSection(howFieldsChange, running, next, {
    mode: running.mode,
    isSame: (name) => isDeepStrictEqual(running[name], next[name]),
    unable,
    note,
  })
  return { live, restart: held, config: config as unknown as ProxyConfig }
}

export function hasEffect({ live }: ReloadPlan, ...effects: readonly Effect[]): boolean {
  return live.some(({ effect }) => effects.includes(effect))
}

interface Walk {
  readonly mode: string
  /** Whether a field of the top level stays as it is. */
  isSame(name: keyof ProxyConfig): boolean
  readonly unable: ReadonlyMap<string, string>
  note(change: FieldChange, how: HowItChanges): void
}

type Section = Readonly<Record<string, unknown>>

/** The types of the table and of the configuration have the same shape, which the compiler checks where the table is. */
function mergeSection(entries: object, running: object, next: object, walk: Walk): Section {
  const before = running as Section
  const after = next as Section
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]: [string, object]) => {
      if (isField(entry)) return [name, mergeField(name, entry, before[name], after[name], walk)]
      if (isGates(entry))
        return [name, mergeGates(entry, before[name] as FeatureGates, after[name] as FeatureGates, walk)]
      return [name, mergeSection(entry, before[name] as object, after[name] as object, walk)]
    }),
  )
}

function mergeField(name: string, { names, how }: FieldEntry, before: unknown, after: unknown, walk: Walk): unknown {
  if (isDeepStrictEqual(before, after)) return after
  const inMode = names.find((path) => path.startsWith(`${walk.mode}.`)) ?? names[0]
  const now = howNow(how, inMode, walk)
  if (inMode !== undefined) walk.note({ field: inMode, from: shown(name, before), to: shown(name, after) }, now)
  return now.kind === 'live' ? after : before
}

function howNow(how: HowItChanges, field: string | undefined, walk: Walk): HowItChanges {
  const because = walk.unable.get(field ?? '')
  if (because !== undefined && how.kind === 'live') return { kind: 'restart', because }
  if (how.kind === 'restart' || how.together === undefined || walk.isSame(how.together)) return how
  return { kind: 'restart', because: `it belongs to ${how.together}, which needs a restart` }
}

/** A gate that nothing reads may change as it likes. */
function mergeGates({ gates }: GatesEntry, before: FeatureGates, after: FeatureGates, walk: Walk): FeatureGates {
  const held: Record<string, boolean> = {}
  for (const [name, how] of Object.entries(gates) as [UsedGate, HowItChanges][]) {
    const [from, to] = [isGateOn(before, name), isGateOn(after, name)]
    if (from === to) continue
    walk.note({ field: `featureGates.${name}`, from: String(from), to: String(to) }, how)
    if (how.kind === 'restart') held[name] = from
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (name in gates || before[name] === after[name]) continue
    const text = (value: boolean | undefined) => (value === undefined ? 'default' : String(value))
    const change = { field: `featureGates.${name}`, from: text(before[name]), to: text(after[name]) }
    walk.note(change, { kind: 'live', effect: 'none' })
  }
  return { ...after, ...held }
}

function shown(name: string, value: unknown): string {
  if (typeof value === 'number' && name.endsWith('Ms')) return renderGoDuration(value)
  if (Array.isArray(value)) return `[${value.map(shownItem).join(', ')}]`
  return shownItem(value)
}

function shownItem(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === '' ? '""' : String(value)
  if ('filePattern' in value && 'verbosity' in value) return `${String(value.filePattern)}=${String(value.verbosity)}`
  return 'text' in value ? String(value.text) : JSON.stringify(value)
}

function isField(entry: object): entry is FieldEntry {
  return 'names' in entry
}

function isGates(entry: object): entry is GatesEntry {
  return 'gates' in entry
}
