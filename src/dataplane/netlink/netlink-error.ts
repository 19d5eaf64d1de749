import { constants } from 'node:os'

export type NetlinkReason =
  'not-permitted' | 'not-found' | 'exists' | 'busy' | 'interrupted' | 'unsupported' | 'closed' | 'failed'

export class NetlinkError extends Error {
  override readonly name = 'NetlinkError'
  /**
   * `interrupted`: the data changed while it was read, or answers were lost; ask again. `unsupported`: this machine or
   * this kernel cannot do it; use another way.
   */
  readonly reason: NetlinkReason
  /** Set if it was the kernel that refused. */
  readonly errno: number | undefined

  constructor(reason: NetlinkReason, message: string, options: ErrorOptions & { errno?: number } = {}) {
    super(message, options)
    this.reason = reason
    this.errno = options.errno
  }
}

/** `doing` completes the sentence "cannot …"; `detail` is the kernel's explanation. */
export function netlinkErrorFrom(errno: number, doing: string, detail = '', options?: ErrorOptions): NetlinkError {
  const reason = reasonOf(errno)
  const said = detail === '' ? errnoName(errno) : `${errnoName(errno)}, ${detail}`
  return new NetlinkError(reason, `cannot ${doing}: ${wayOut[reason]} (${said})`, { ...options, errno })
}

const wayOut: Readonly<Record<NetlinkReason, string>> = {
  'not-permitted': 'run as root, or give the container CAP_NET_ADMIN',
  'not-found': 'the kernel has no such object',
  exists: 'the kernel already has such an object',
  busy: 'the object is in use',
  interrupted: 'it changed while it was read, or the buffer overflowed; retry',
  unsupported: 'this kernel does not support it; load the module that provides it',
  closed: 'the socket is closed; open another',
  failed: 'the kernel refused',
}

function reasonOf(errno: number): NetlinkReason {
  const { EPERM, EACCES, ENOENT, ESRCH, ENODEV, EEXIST, EBUSY, EINTR, ENOBUFS } = constants.errno
  const { EOPNOTSUPP, EPROTONOSUPPORT, EAFNOSUPPORT, EBADF } = constants.errno
  switch (errno) {
    case EPERM:
    case EACCES:
      return 'not-permitted'
    case ENOENT:
    case ESRCH:
    case ENODEV:
      return 'not-found'
    case EEXIST:
      return 'exists'
    case EBUSY:
      return 'busy'
    // ENOBUFS: the receive queue was full, so some answers are lost.
    case EINTR:
    case ENOBUFS:
      return 'interrupted'
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
      return 'unsupported'
    case EBADF:
      return 'closed'
    default:
      return 'failed'
  }
}

/** `ENOENT` for 2. Some subsystems use numbers above 4095, which have no name. */
function errnoName(errno: number): string {
  return Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`
}
