/** What was asked for cannot be done; the message is for whoever asked. */
export class DemoRefusal extends Error {
  override readonly name = 'DemoRefusal'
}
