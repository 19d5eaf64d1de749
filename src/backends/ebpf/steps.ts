/** What is done to the tables, as data: one step is one call. */
import type { MapEntry } from '../../dataplane/ebpf/bpf.ts'
import type { MapName } from './layout.ts'

export type Step =
  /** What no program looks at yet. */
  | { readonly do: 'fill'; readonly map: MapName; readonly offset: number; readonly bytes: Uint8Array }
  /** At once: a program sees the old word or the new one. */
  | { readonly do: 'store'; readonly map: MapName; readonly offset: number; readonly word: bigint }
  | { readonly do: 'update'; readonly map: MapName; readonly entries: readonly MapEntry[] }
  | { readonly do: 'delete'; readonly map: MapName; readonly keys: readonly Uint8Array[] }

export type FillStep = Extract<Step, { readonly do: 'fill' }>
export type StoreStep = Extract<Step, { readonly do: 'store' }>

/** The same in as few steps as possible: what lies side by side is filled at once. */
export function joined(fills: readonly FillStep[]): readonly FillStep[] {
  const sorted = [...fills].sort((a, b) => (a.map < b.map ? -1 : a.map > b.map ? 1 : a.offset - b.offset))
  const runs: FillStep[][] = []
  for (const fill of sorted) {
    const last = runs.at(-1)?.at(-1)
    if (last?.map === fill.map && last.offset + last.bytes.length === fill.offset) runs.at(-1)?.push(fill)
    else runs.push([fill])
  }
  return runs.map((run) => {
    const [first] = run
    if (first === undefined || run.length === 1) return first as FillStep
    return { ...first, bytes: Buffer.concat(run.map(({ bytes }) => bytes)) }
  })
}
