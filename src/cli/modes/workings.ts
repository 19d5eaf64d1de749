/** How a mode works on a node, as far as the daemon has to know. */

export interface Workings {
  /** The kernel of Linux tracks its connections, so the conntrack settings of the machine matter. */
  readonly tracksConnections: boolean
  /** It takes over what every other mode serves, so what they left has to go. */
  readonly replacesOtherModes: boolean
  /** It programs what every other proxy of the node would program too, so there may be one. */
  readonly isOnlyOne: boolean
  /** Services may have loopback addresses. Not where rules of the kernel lead to endpoints. */
  readonly allowsLoopback: boolean
  /** Which addresses have node ports: those of `nodePortAddresses`, all of them, or loopback, whatever it says. */
  readonly nodePorts: 'as-configured' | 'everywhere' | 'on-loopback'
}

/** Rules in the kernel of Linux. */
export const linuxRules: Workings = {
  tracksConnections: true,
  isOnlyOne: true,
  replacesOtherModes: true,
  allowsLoopback: false,
  nodePorts: 'as-configured',
}

/** Sockets on loopback: nothing of the machine changes, and rules of other modes do not matter. */
export const loopbackSockets: Workings = {
  tracksConnections: false,
  isOnlyOne: false,
  replacesOtherModes: false,
  allowsLoopback: true,
  nodePorts: 'on-loopback',
}
