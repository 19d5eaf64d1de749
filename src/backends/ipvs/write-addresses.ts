/** The addresses on our link, which make traffic for them local. */
import { AddressError } from '../../dataplane/addresses/addresses.ts'
import { ipvsLink } from './ipvs-link.ts'
import { Surprise } from './work.ts'
import type { Work } from './work.ts'

export async function bindAddresses(work: Work, signal: AbortSignal): Promise<void> {
  const { kernel, plan, written, touched, failures, counts } = work
  const missing = [...touched.entries('ipvsIps')].filter((ip) => plan.addresses.has(ip) && !written.addresses.has(ip))
  if (missing.length === 0) return
  const errors = await onLink(work, kernel.addresses.add(ipvsLink, missing, signal))
  counts.addresses += missing.length
  for (const ip of missing) {
    const error = errors.get(ip)
    if (error === undefined) written.addresses.add(ip)
    else failures.addresses.set(ip, error.message)
  }
}

export async function unbindAddresses(work: Work, signal: AbortSignal): Promise<void> {
  const { kernel, plan, written, touched, leftovers, counts, log } = work
  const unwanted = [...touched.entries('ipvsIps')].filter((ip) => !plan.addresses.has(ip) && written.addresses.has(ip))
  if (unwanted.length === 0) return
  const errors = await onLink(work, kernel.addresses.remove(ipvsLink, unwanted, signal))
  counts.addresses += unwanted.length
  for (const ip of unwanted) {
    const error = errors.get(ip)
    if (error === undefined) written.addresses.delete(ip)
    else {
      log.warn('cannot remove an address from the link', { link: ipvsLink, ip, error })
      leftovers.addEntry('ipvsIps', ip)
    }
  }
}

async function onLink<T>({ rules }: Work, change: Promise<T>): Promise<T> {
  try {
    return await change
  } catch (error) {
    const isGone = error instanceof AddressError && error.reason === 'no-such-link'
    if (isGone && rules === undefined) throw new Surprise(error.message, { cause: error })
    throw error
  }
}
