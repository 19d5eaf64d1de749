/**
 * FFI on Linux: the few C functions that Node lacks, for kinds of sockets that Node does not have, and for
 * memory that two processes share. Both are file descriptors, which Node's own `fs` reads, writes and closes.
 *
 * Load it with `loadLibc`: it fails to load where koffi has no binary, and it takes memory.
 */
import { constants } from 'node:os'
import koffi from 'koffi'

// The running program: glibc or musl is already loaded in it.
const program = koffi.load(null)
const cSocket = program.func('int socket(int domain, int type, int protocol)') as Call
const cBind = program.func('int bind(int fd, const void *address, uint32_t length)') as Call
const cSetsockopt = program.func(
  'int setsockopt(int fd, int level, int option, const void *value, uint32_t length)',
) as Call
const cGetsockopt = program.func(
  'int getsockopt(int fd, int level, int option, void *value, _Inout_ uint32_t *length)',
) as Call & { async: (...args: readonly unknown[]) => void }
const cMemfdCreate = program.func('int memfd_create(const char *name, unsigned int flags)') as Call
// Its last argument is variadic in C. On every Linux that koffi has a binary for, those are passed like others.
const cFcntl = program.func('int fcntl(int fd, int command, int argument)') as Call
const cMmap = program.func(
  'void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)',
) as (
  address: ArrayBuffer | null,
  length: number,
  protection: number,
  flags: number,
  fd: number,
  offset: number,
) => unknown
const cSyscall = program.func('long syscall(long number, long first, void *second, long third)') as Call & {
  async: (...args: readonly unknown[]) => void
}
const cSetns = program.func('int setns(int fd, int kind)') as Call
const cMount = program.func(
  'int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)',
) as (source: string, target: string, type: string, flags: number, data: null) => number

const cListen = program.func('int listen(int fd, int backlog)') as Call
const cConnect = program.func('int connect(int fd, const void *address, uint32_t length)') as Call
const cGetsockname = program.func('int getsockname(int fd, void *address, _Inout_ uint32_t *length)') as Call
const cRecv = program.func('intptr_t recv(int fd, void *bytes, size_t length, int flags)') as Call
const cSocketpair = program.func('int socketpair(int domain, int type, int protocol, void *fds)') as Call
const part = koffi.struct({ bytes: 'void *', length: 'size_t' })
const message = koffi.struct({
  name: 'void *',
  nameLength: 'uint32_t',
  parts: koffi.pointer(part),
  partCount: 'size_t',
  control: 'void *',
  controlLength: 'size_t',
  flags: 'int',
})
const cSendmsg = program.func('sendmsg', 'intptr_t', ['int', koffi.pointer(message), 'int']) as MessageCall
const cRecvmsg = program.func('recvmsg', 'intptr_t', ['int', koffi.inout(koffi.pointer(message)), 'int']) as MessageCall

/** C's msghdr. */
interface Message {
  readonly name: null
  readonly nameLength: number
  readonly parts: readonly { readonly bytes: Buffer; readonly length: number }[]
  readonly partCount: number
  readonly control: Buffer | null
  readonly controlLength: number
  readonly flags: number
}

type MessageCall = (fd: number, message: Message, flags: number) => number

type Call = (...args: readonly (number | string | Buffer | [number])[]) => number

/** Returns a file descriptor, or a negated errno. The socket belongs to the network namespace of the calling thread. */
export function socket(domain: number, type: number, protocol: number): number {
  return resultOf(cSocket(domain, type, protocol))
}

/** Returns an errno, or 0. */
export function bind(fd: number, address: Buffer): number {
  return errnoOf(cBind(fd, address, address.length))
}

/** Returns an errno, or 0. */
export function setSocketOption(fd: number, level: number, option: number, value: Buffer): number {
  return errnoOf(cSetsockopt(fd, level, option, value, value.length))
}

/** Fills `value`. Some options read their arguments from its first bytes. Returns an errno, or 0. */
export function getSocketOption(fd: number, level: number, option: number, value: Buffer): number {
  return errnoOf(cGetsockopt(fd, level, option, value, [value.length]))
}

/** The same on another thread, for calls that take long. The errno cannot be read from there. */
export function getSocketOptionAsync(fd: number, level: number, option: number, value: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    cGetsockopt.async(fd, level, option, value, [value.length], (error: Error | null, result: number) =>
      error === null ? resolve(result === 0) : reject(error),
    )
  })
}

/** Returns the descriptor of a file that exists only in memory, or a negated errno. */
export function memoryFile(name: string, flags: number): number {
  return resultOf(cMemfdCreate(name, flags))
}

/** Returns an errno, or 0. */
export function addSeals(fd: number, seals: number): number {
  const addSealsCommand = 1033
  return errnoOf(cFcntl(fd, addSealsCommand, seals))
}

/** Returns the bytes of a file, to read and write, or an errno. They stay mapped until this process ends. */
export function mapShared(fd: number, size: number): ArrayBuffer | number {
  const [readAndWrite, shared, failed] = [3, 1, 2n ** 64n - 1n]
  const mapped = cMmap(null, size, readAndWrite, shared, fd, 0)
  return koffi.address(mapped) === failed ? koffi.errno() : koffi.view(mapped, size)
}

/**
 * Lets go of memory that `mapShared` returned. Its addresses stay reserved and read as zeros: JavaScript may still have
 * views of them, which must not end the process. Returns an errno, or 0.
 */
export function releaseShared(memory: ArrayBuffer): number {
  const [readAndWrite, privateFixedAnonymous, failed] = [3, 0x32, 2n ** 64n - 1n]
  const mapped = cMmap(memory, memory.byteLength, readAndWrite, privateFixedAnonymous, -1, 0)
  return koffi.address(mapped) === failed ? koffi.errno() : 0
}

/** The number of bpf(2); C libraries have no function for it. Missing: Fairlead does not know this machine. */
const bpfNumber: number | undefined = { x64: 321, arm64: 280 }[process.arch as string]

/** bpf(2). Returns what the command returns, such as a descriptor, or a negated errno. */
export function bpf(command: number, attributes: Buffer): number {
  if (bpfNumber === undefined) return -constants.errno.ENOSYS
  return resultOf(cSyscall(bpfNumber, command, attributes, attributes.length))
}

/** The same on another thread, for commands that wait. The errno cannot be read from there. */
export function bpfAsync(command: number, attributes: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    cSyscall.async(bpfNumber ?? -1, command, attributes, attributes.length, (error: Error | null, result: number) =>
      error === null ? resolve(result >= 0) : reject(error),
    )
  })
}

/** For the pointers inside of structures. Keep the buffer in a variable until the call that uses it has returned. */
export function addressOf(buffer: Buffer): bigint {
  return koffi.address(buffer)
}

/** Moves the calling thread into a network namespace. Returns an errno, or 0. */
export function enterNetworkNamespace(fd: number): number {
  const network = 0x40000000
  return errnoOf(cSetns(fd, network))
}

/** Returns an errno, or 0. */
export function mount(source: string, target: string, type: string): number {
  return errnoOf(cMount(source, target, type, 0, null))
}

/** Returns an errno, or 0. */
export function listen(fd: number, backlog: number): number {
  return errnoOf(cListen(fd, backlog))
}

/** Returns an errno, or 0. */
export function connect(fd: number, address: Buffer): number {
  return errnoOf(cConnect(fd, address, address.length))
}

/** Fills `address`, C's sockaddr. Returns an errno, or 0. */
export function socketName(fd: number, address: Buffer): number {
  return errnoOf(cGetsockname(fd, address, [address.length]))
}

/** Fills `bytes` with the next datagram, if there is one. Never waits. Returns its size, or a negated errno. */
export function receiveNow(fd: number, bytes: Buffer): number {
  return resultOf(cRecv(fd, bytes, bytes.length, dontWait))
}

/** Two ends of a Unix stream, closed by programs that are started; or a negated errno. */
export function socketPair(): readonly [number, number] | number {
  const [unix, streamClosedOnExec] = [1, 0x80001]
  const fds = Buffer.alloc(8)
  const result = cSocketpair(unix, streamClosedOnExec, 0, fds)
  return result < 0 ? -koffi.errno() : [fds.readInt32LE(0), fds.readInt32LE(4)]
}

/** More of them in one message the kernel refuses (SCM_MAX_FD). */
export const mostDescriptors = 253

const controlHeaderSize = 16
const [socketLevel, passedDescriptors] = [1, 1]
const [dontWait, noSignal, closeOnExec] = [0x40, 0x4000, 0x40000000]

/** Sends the bytes over a Unix socket, and copies of the descriptors with the first of them. Never waits. Returns how many bytes, or a negated errno. */
export function sendDescriptors(fd: number, bytes: Buffer, descriptors: readonly number[]): number {
  const length = controlHeaderSize + 4 * descriptors.length
  const control = Buffer.alloc(length + 8) // The kernel wants room for what it aligns.
  control.writeBigUInt64LE(BigInt(length), 0)
  control.writeInt32LE(socketLevel, 8)
  control.writeInt32LE(passedDescriptors, 12)
  for (const [index, descriptor] of descriptors.entries())
    control.writeInt32LE(descriptor, controlHeaderSize + 4 * index)
  const hasAny = descriptors.length > 0
  return resultOf(cSendmsg(fd, messageOf(bytes, hasAny ? control : null, hasAny ? length : 0), dontWait | noSignal))
}

export interface Received {
  /** 0: the other side has closed it. */
  readonly size: number
  /** Belong to the caller. */
  readonly descriptors: readonly number[]
}

/** Fills `bytes` with what has come over a Unix socket. Never waits. Or a negated errno. A process that has too many descriptors gets fewer than were sent. */
export function receiveDescriptors(fd: number, bytes: Buffer): Received | number {
  const control = Buffer.alloc(controlHeaderSize + 4 * (mostDescriptors + 1))
  const received = messageOf(bytes, control, control.length)
  const size = cRecvmsg(fd, received, dontWait | closeOnExec)
  if (size < 0) return -koffi.errno()
  const end = received.controlLength < controlHeaderSize ? 0 : Number(control.readBigUInt64LE(0))
  const descriptors: number[] = []
  for (let at = controlHeaderSize; at + 4 <= end; at += 4) descriptors.push(control.readInt32LE(at))
  return { size, descriptors }
}

function messageOf(bytes: Buffer, control: Buffer | null, controlLength: number): Message {
  return {
    name: null,
    nameLength: 0,
    parts: [{ bytes, length: bytes.length }],
    partCount: 1,
    control,
    controlLength,
    flags: 0,
  }
}

function resultOf(result: number): number {
  return result < 0 ? -koffi.errno() : result
}

function errnoOf(result: number): number {
  return result < 0 ? koffi.errno() : 0
}
