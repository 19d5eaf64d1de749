/** The routing rule over netlink. It opens a socket for each call, so there is nothing to close at the end. */
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { OpenNetlink } from '../netlink/open-netlink.ts'
import type { DeliveryNumbers, MarkedDelivery } from './marked-delivery.ts'
import { deleteRoute, deleteRule, isRule, listRules, newRoute, newRule, ruleParts } from './rule-messages.ts'

interface Options {
  readonly open: OpenNetlink
  readonly numbers: DeliveryNumbers
}

/** The rule is made before the route and removed after it, so where there is no rule there is no route either. */
export function netlinkMarkedDelivery({ open, numbers }: Options): MarkedDelivery {
  return {
    numbers,

    async ensure(family, signal) {
      await using socket = await open('route')
      for (const part of ruleParts) await socket.request(newRule(family, numbers, part), signal).catch(ignore('exists'))
      await socket.request(newRoute(family, numbers), signal).catch(ignore('exists'))
    },

    async remove(family, signal) {
      await using socket = await open('route')
      await socket.request(deleteRoute(family, numbers), signal).catch(ignore('not-found', 'unsupported'))
      for (const part of ruleParts.toReversed())
        await socket.request(deleteRule(family, numbers, part), signal).catch(ignore('not-found', 'unsupported'))
    },

    async isThere(family, signal) {
      try {
        await using socket = await open('route')
        for await (const messages of socket.dump(listRules(family), signal))
          if (messages.some((message) => isRule(message, numbers))) return true
      } catch (error) {
        // On a kernel without this family, or without routing rules, we cannot have made one.
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
