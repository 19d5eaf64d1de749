/**
 * `node commit-watch-process.js` prints a line whenever a transaction of nf_tables is committed in the network namespace
 * that it runs in: the milliseconds of the shared clock at which it heard of it. It blocks in the kernel meanwhile, so
 * watching costs nothing.
 */
import { writeSync } from 'node:fs'
import koffi from 'koffi'
import { sharedClockMs } from '../core/shared-clock.ts'

type Call = (...args: readonly (number | Buffer)[]) => number

const libc = koffi.load(null)
const socket = libc.func('int socket(int domain, int type, int protocol)') as Call
const bind = libc.func('int bind(int fd, const void *address, uint32_t length)') as Call
const recv = libc.func('intptr_t recv(int fd, void *data, size_t length, int flags)') as Call

const setOption = libc.func('int setsockopt(int fd, int level, int option, const void *value, uint32_t length)') as Call

const [netlinkDomain, raw, netfilter] = [16, 3, 12]
const nftablesGroup = 7
/** Subsystem 10, message 15: a new generation of the rules. */
const newGeneration = (10 << 8) | 15

const fd = socket(netlinkDomain, raw, netfilter)
// A Maglev table that changes is thousands of events, and that they are committed is said last.
const [socketLevel, receiveBufferForce] = [1, 33]
const sixtyFourMegabytes = Buffer.from([0, 0, 0, 4])
setOption(fd, socketLevel, receiveBufferForce, sixtyFourMegabytes, sixtyFourMegabytes.length)
const address = Buffer.alloc(12)
address.writeUInt16LE(netlinkDomain)
address.writeUInt32LE(1 << (nftablesGroup - 1), 8)
if (fd < 0 || bind(fd, address, address.length) !== 0)
  throw new Error(`cannot listen to nf_tables: errno ${koffi.errno()}`)
writeSync(1, 'listening\n')

const datagram = Buffer.alloc(1 << 20)
for (;;) {
  const length = recv(fd, datagram, datagram.length, 0)
  const atMs = sharedClockMs()
  // A large transaction says more than the socket holds; that it was committed is said last, and later ones tell.
  for (let at = 0; at + 16 <= length; at += (datagram.readUInt32LE(at) + 3) & ~3)
    if (datagram.readUInt16LE(at + 4) === newGeneration) writeSync(1, `${atMs}\n`)
}
