/** The number that nf_tables adds one to with each transaction in this network namespace, whoever made it. */
import { closeSync, readSync, writeSync } from 'node:fs'
import { endianness } from 'node:os'
import type { ChangeDetector } from './change-detector.ts'
import { IptablesError } from './iptables.ts'
import type { SocketCalls } from './legacy-tables.ts'

const AF_NETLINK = 16
const SOCK_RAW_NONBLOCK_CLOEXEC = 3 | 0o4000 | 0o2000000
const NETLINK_NETFILTER = 12
const NLM_F_REQUEST = 1
const NLMSG_ERROR = 2
const NFT_MSG_NEWGEN = (10 << 8) | 15
const NFT_MSG_GETGEN = (10 << 8) | 16
const NFTA_GEN_ID = 1
const headerLength = 16
/** The netlink header, then struct nfgenmsg. */
const firstAttribute = headerLength + 4

export function nfTablesGeneration(libc: SocketCalls): ChangeDetector {
  const fd = libc.socket(AF_NETLINK, SOCK_RAW_NONBLOCK_CLOEXEC, NETLINK_NETFILTER)
  const answer = Buffer.alloc(4096)
  const question = getGeneration()
  return {
    async token() {
      // The kernel answers while it takes the question, so the answer is there to be read at once.
      writeSync(fd, question)
      return String(generationFrom(answer.subarray(0, readSync(fd, answer))))
    },
    isCheap: true,
    [Symbol.dispose]() {
      closeSync(fd)
    },
  }
}

function getGeneration(): Buffer {
  const message = Buffer.alloc(firstAttribute)
  write32(message, 0, message.length)
  write16(message, 4, NFT_MSG_GETGEN)
  write16(message, 6, NLM_F_REQUEST)
  return message
}

function generationFrom(message: Buffer): number {
  const type = read16(message, 4)
  if (type === NLMSG_ERROR) {
    const errno = -read32(message, headerLength)
    throw new IptablesError(
      errno === 1 || errno === 13 ? 'not-permitted' : 'unsupported',
      `cannot read the generation of nf_tables (errno ${errno}): it needs CAP_NET_ADMIN and nf_tables`,
    )
  }
  if (type === NFT_MSG_NEWGEN)
    for (let at = firstAttribute; at + 4 <= message.length; at += align4(read16(message, at)))
      if (read16(message, at + 2) === NFTA_GEN_ID) return message.readUInt32BE(at + 4)
  throw new IptablesError(
    'unsupported',
    `the kernel answered with message ${type} when asked for nf_tables' generation`,
  )
}

/** Attributes are padded. A broken length must not make the walk stand still. */
function align4(length: number): number {
  return Math.max(4, (length + 3) & ~3)
}

/** Netlink speaks the byte order of the machine. */
const isLittle = endianness() === 'LE'

function write16(buffer: Buffer, at: number, value: number): void {
  if (isLittle) buffer.writeUInt16LE(value, at)
  else buffer.writeUInt16BE(value, at)
}

function write32(buffer: Buffer, at: number, value: number): void {
  if (isLittle) buffer.writeUInt32LE(value, at)
  else buffer.writeUInt32BE(value, at)
}

function read16(buffer: Buffer, at: number): number {
  return isLittle ? buffer.readUInt16LE(at) : buffer.readUInt16BE(at)
}

function read32(buffer: Buffer, at: number): number {
  return isLittle ? buffer.readInt32LE(at) : buffer.readInt32BE(at)
}
