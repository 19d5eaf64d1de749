/**
 * `node node-process.js SERVICES CGROUP PINS OBJECT`: the node of the traffic, with the tables of the ebpf mode for sockets and
 * for packets. It says when they are in the kernel, and ends with its input.
 */
import { LargeView } from './large-view.ts'
import { openMode } from './opened-mode.ts'

const [, , services, cgroup = '', pins = '', object = ''] = process.argv
const { view, change } = new LargeView(Number(services)).takeAll()
const backend = await openMode('ebpf', { cgroup, pins, object })
await backend.sync(view, change, new AbortController().signal)
process.stdout.write(`${JSON.stringify({ routes: view.routesByKey.size })}\n`)
process.stdin.resume().on('end', () => process.exit())
