import type { SyncSteps } from '../../core/sync/sync-steps.ts'
import { tracedDoor } from '../../core/sync/traced-door.ts'
import type { Bpf } from './bpf.ts'

/** Each call that changes what the kernel has is a commit in the trace of the sync. Loading a program changes nothing. */
export function tracedBpf(bpf: Bpf, steps: SyncSteps): Bpf {
  return tracedDoor(bpf, steps, {
    createMap: { before: ({ name, maxEntries }) => ({ command: 'map create', map: name, entries: maxEntries }) },
    attach: { before: ({ image }, cgroup) => ({ command: 'attach', program: image.name, cgroup }) },
    replace: { before: (_link, { image }) => ({ command: 'replace', program: image.name }) },
    detach: { before: ({ attachType }) => ({ command: 'detach', at: attachType }) },
    pin: { before: (_object, path) => ({ command: 'pin', path }) },
    unpin: { before: (path) => ({ command: 'unpin', path }) },
  })
}
