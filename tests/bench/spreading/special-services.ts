/** Services of the benchmark's cluster that choose endpoints in a special way: some of each, with a cluster IP only. */
import { podAddress } from '../core/cluster-objects.ts'

export interface SpecialKind {
  readonly name: string
  /** Of its Services in the cluster. */
  readonly indexes: readonly number[]
  annotations(index: number): Readonly<Record<string, string>>
}

/** In the middle of the table. One in ten has a node port, and is not among them. */
const first = 5_000
/** A Maglev table takes 3 MB of the kernel's memory. */
const ofEachKind = 9

function kind(place: number, name: string, annotations: SpecialKind['annotations']): SpecialKind {
  const indexes = Array.from({ length: ofEachKind }, (_, number) => first + 10 * place + number + 1)
  return { name, indexes, annotations }
}

const algorithm = (name: string) => () => ({ 'fairlead.dev/algorithm': name })

/** The first one is what the others are compared with. */
export const specialKinds: readonly [SpecialKind, ...SpecialKind[]] = [
  kind(0, 'random (no annotation)', () => ({})),
  kind(1, 'random, weights 1:3:6:10', (index) => ({
    'fairlead.dev/weights': `${[1, 3, 6].map((weight, place) => `ip:${podAddress(index, place)}=${weight}`).join(',')},*=10`,
  })),
  kind(2, 'round-robin', algorithm('round-robin')),
  kind(3, 'source-hash', algorithm('source-hash')),
  kind(4, 'maglev', algorithm('maglev')),
]

/** What a Service of the cluster asks for. */
export function specialAnnotations(index: number): Readonly<Record<string, string>> {
  return specialKinds.find(({ indexes }) => indexes.includes(index))?.annotations(index) ?? {}
}
