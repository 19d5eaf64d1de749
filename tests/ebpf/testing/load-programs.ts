/** Run by itself: makes the maps, loads all programs of an object, and prints for each whether the kernel took it. */
import { readFileSync } from 'node:fs'
import { mapSpecs } from '../../../src/backends/ebpf/layout.ts'
import { BpfError } from '../../../src/dataplane/ebpf/bpf-error.ts'
import type { BpfMap } from '../../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../../src/dataplane/ebpf/open-bpf.ts'
import { readObject } from '../../../src/dataplane/ebpf/read-object.ts'

const bpf = await openBpf()
const outcomes: Record<string, string> = {}
const maps = new Map<string, BpfMap>()
await noting('maps', async () => {
  for (const [name, spec] of Object.entries(mapSpecs)) maps.set(name, await bpf.createMap(spec))
})
for (const image of readObject(readFileSync(process.argv[2] ?? '')).programs)
  if (maps.size > 0) await noting(image.section, () => bpf.loadProgram(image, maps))
process.stdout.write(JSON.stringify(outcomes))

async function noting(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
    outcomes[what] = 'taken'
  } catch (error) {
    outcomes[what] = error instanceof BpfError ? `${error.reason}: ${error.message}` : String(error)
  }
}
