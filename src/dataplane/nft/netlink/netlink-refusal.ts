/** From what the kernel has against a transaction to an NftError. */
import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { NetlinkError } from '../../netlink/netlink-error.ts'
import type { Batch } from './batch.ts'
import type { BatchError } from './batch-socket.ts'
import { NftError } from '../nft.ts'
import type { NftErrorReason } from '../nft.ts'

const maxShown = 5

/** `doing` completes the sentence "cannot …". The first error decides: those behind it may follow from it. */
export function refusal(doing: string, batch: Batch, errors: readonly BatchError[]): NftError {
  const shown = errors.slice(0, maxShown).map(({ sequence, errno, text, offset }) => {
    const words = text === '' ? errorName(errno) : `${errorName(errno)}, ${text}`
    return `${batch.describe(sequence, offset)}: ${words}`
  })
  if (errors.length > maxShown) shown.push(`${errors.length - maxShown} more`)
  const [first = '', ...others] = shown
  const more = others.length === 0 ? '' : `; also ${others.join('; ')}`
  return new NftError(reasonOf(errors[0]?.errno ?? 0), `cannot ${doing}: ${first}${more}`)
}

/** Errors of the socket become ours; all else, such as the reason of a signal, stays as it is. */
export function socketError(doing: string, error: unknown): unknown {
  if (error instanceof NetlinkError)
    return new NftError(socketReasons[error.reason] ?? 'failed', `cannot ${doing}: ${error.message}`, { cause: error })
  const { errno } = error as NodeJS.ErrnoException
  if (typeof errno !== 'number') return error
  // Node negates the numbers.
  return new NftError(reasonOf(-errno, 'failed'), `cannot ${doing}: ${errorName(-errno)}`, { cause: error })
}

const socketReasons: Readonly<Partial<Record<NetlinkError['reason'], NftErrorReason>>> = {
  'not-permitted': 'not-permitted',
  'not-found': 'missing',
  unsupported: 'no-kernel-support',
}

function reasonOf(errno: number, otherwise: NftErrorReason = 'refused'): NftErrorReason {
  const { ENOENT, EEXIST, ENOTEMPTY, EBUSY, EPERM, EACCES, ENOMEM, ENOBUFS, EINTR, EAGAIN, EMSGSIZE } = constants.errno
  switch (errno) {
    case ENOENT:
      return 'missing'
    // ENOTEMPTY: a range that overlaps with another.
    case EEXIST:
    case ENOTEMPTY:
      return 'exists'
    case EBUSY:
      return 'busy'
    case EPERM:
    case EACCES:
      return 'not-permitted'
    case ENOMEM:
    case ENOBUFS:
    case EINTR:
    case EAGAIN:
    case EMSGSIZE:
      return 'failed'
    default:
      return otherwise
  }
}

/** `ENOENT` for 2. */
function errorName(errno: number): string {
  try {
    return getSystemErrorName(-errno)
  } catch {
    return `error ${errno}`
  }
}
