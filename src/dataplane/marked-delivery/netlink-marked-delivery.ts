/** The routing rule over netlink. It opens a socket for each task, so there is nothing to keep and nothing to end. */
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import type { DeliveryNumbers, MarkedDelivery } from './marked-delivery.ts'
import { deleteRoute, deleteRule, isRule, listRules, newRoute, newRule } from './rule-messages.ts'

interface Options {
  readonly open: OpenNetlink
  readonly numbers: DeliveryNumbers
}

/** The rule comes before the route and goes after it, so whoever finds no rule need not look for a route. */
export function netlinkMarkedDelivery({ open, numbers }: Options): MarkedDelivery {
  return {
    numbers,

    async ensure(family, signal) {
      await using socket = await open('route')
      await socket.request(newRule(family, numbers), signal).catch(ignore('exists'))
      await socket.request(newRoute(family, numbers), signal).catch(ignore('exists'))
    },

    async remove(family, signal) {
      await using socket = await open('route')
      await socket.request(deleteRoute(family, numbers), signal).catch(ignore('not-found', 'unsupported'))
      await socket.request(deleteRule(family, numbers), signal).catch(ignore('not-found', 'unsupported'))
    },

    async isThere(family, signal) {
      try {
        await using socket = await open('route')
        for await (const messages of socket.dump(listRules(family), signal))
          if (messages.some((message) => isRule(message, numbers))) return true
      } catch (error) {
        // A kernel without the family, without routing rules, or without a way to ask for them, got none from us.
        ignore('unsupported')(error)
      }
      return false
    },
  }
}

function ignore(...reasons: readonly NetlinkError['reason'][]): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof NetlinkError) || !reasons.includes(error.reason)) throw error
  }
}
