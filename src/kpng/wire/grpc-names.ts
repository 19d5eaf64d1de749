/** The names of the calls. */
export const localWatchPath = '/localv1.Sets/Watch'

/** The name of the local watch before October 2022; the messages are the same. */
export const oldLocalWatchPath = '/localnetv1.Endpoints/Watch'

export const globalWatchPath = '/globalv1.Sets/Watch'

/**
 * A header that only Fairlead's clients send: they also want the endpoints that no traffic may use on the node, to tell
 * "nobody serves" from "others serve".
 */
export const unscopedHeader = 'fairlead-unscoped-endpoints'
