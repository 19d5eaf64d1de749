/** Counters of the kernel (nfacct) that rules may name. */
export type CounterName = keyof typeof counterNames

export const counterNames = {
  invalidDropped: 'ct_state_invalid_dropped_pkts',
  localhostAccepted: 'localhost_nps_accepted_pkts',
} as const

/** Those that exist. */
export type Counters = Readonly<Record<CounterName, boolean>>

export const noCounters: Counters = { invalidDropped: false, localhostAccepted: false }
