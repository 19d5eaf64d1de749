/** The connection table over netlink. It opens a socket for each call, so there is nothing to close at the end. */
import type { Logger } from '../../core/logger.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import { ConntrackError } from './conntrack.ts'
import type { Conntrack, TrackedFlow } from './conntrack.ts'
import { deleteFlow, listFlows, readConnection, readUdpFlow } from './flow-messages.ts'

export interface NetlinkConntrackOptions {
  readonly open: OpenNetlink
  readonly log: Logger
}

/** A busy table changes while it is read. After this many tries, what was read is good enough. */
const maxAttempts = 5
/** Enough to make system calls cheap, too few to overflow any queue. */
const deletionsPerDatagram = 256

export function netlinkConntrack({ open, log }: NetlinkConntrackOptions): Conntrack {
  return {
    async *dump(family, signal) {
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        try {
          yield* dumpOnce(open, (message) => readUdpFlow(message, family), signal)
          return
        } catch (error) {
          if (!isInterrupted(error)) throw conntrackError(error, 0)
          log.debug(2, 'connection table changed while it was read', { family, attempt, maxAttempts })
        }
      }
    },

    async *connections(family, signal) {
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        try {
          yield* dumpOnce(open, (message) => readConnection(message, family), signal)
          return
        } catch (error) {
          if (!isInterrupted(error)) throw conntrackError(error, 0)
          log.debug(2, 'connection table changed while it was read', { family, attempt, maxAttempts })
          if (attempt < maxAttempts) yield 'again'
        }
      }
    },

    async delete(flows, signal) {
      let deleted = 0
      let firstError: unknown
      try {
        for (let at = 0; at < flows.length; at += deletionsPerDatagram) {
          const some = flows.slice(at, at + deletionsPerDatagram)
          const errors = await deleteSome(open, some, signal)
          deleted += some.length - errors.length
          firstError ??= errors[0]
        }
        if (firstError !== undefined) throw firstError
      } catch (error) {
        throw conntrackError(error, deleted)
      }
      return deleted
    },
  }
}

async function* dumpOnce<T>(
  open: OpenNetlink,
  read: (message: NetlinkMessage) => T | undefined,
  signal: AbortSignal,
): AsyncGenerator<readonly T[], void> {
  await using socket = await open('netfilter')
  for await (const messages of socket.dump(listFlows(), signal)) {
    const flows: T[] = []
    for (const message of messages) {
      const flow = read(message)
      if (flow !== undefined) flows.push(flow)
    }
    if (flows.length > 0) yield flows
  }
}

/** Trying again is harmless, because a flow that is gone counts as deleted. */
async function deleteSome(
  open: OpenNetlink,
  flows: readonly TrackedFlow[],
  signal: AbortSignal,
): Promise<readonly NetlinkError[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      await using socket = await open('netfilter')
      const errors = await socket.batch(flows.map(deleteFlow), signal)
      return [...errors.values()].filter(({ reason }) => reason !== 'not-found')
    } catch (error) {
      if (!isInterrupted(error) || attempt === maxAttempts) throw error
    }
  }
}

function isInterrupted(error: unknown): boolean {
  return error instanceof NetlinkError && error.reason === 'interrupted'
}

function conntrackError(error: unknown, deleted: number): unknown {
  if (!(error instanceof NetlinkError)) return error
  const reason = error.reason === 'not-permitted' ? 'not-permitted' : 'failed'
  return new ConntrackError(reason, error.message, { cause: error, deleted })
}
