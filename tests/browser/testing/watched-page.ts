/** A page of the console, and all that goes wrong on it. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

export class WatchedPage implements AsyncDisposable {
  readonly page: Page
  /** Errors in its console, exceptions, what its policy forbade, and requests to elsewhere. */
  readonly problems: string[] = []
  readonly #origin: string

  private constructor(page: Page, origin: string) {
    this.page = page
    this.#origin = origin
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
        this.problems.push(`console ${message.type()}: ${message.text()}`)
    })
    page.on('pageerror', (error) => this.problems.push(`exception: ${error.stack ?? error.message}`))
    page.on('dialog', (dialog) => {
      this.problems.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.origin !== this.#origin && url.protocol !== 'data:') this.problems.push(`request to ${request.url()}`)
    })
    page.on('response', (response) => {
      if (response.status() >= 400) this.problems.push(`${response.status()} for ${response.url()}`)
    })
  }

  /** In a profile of its own. */
  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    await context.addInitScript(() =>
      document.addEventListener('securitypolicyviolation', (event) =>
        // eslint-disable-next-line no-console -- this is how the test hears of it
        console.error(`the policy forbids ${event.blockedURI} (${event.violatedDirective})`),
      ),
    )
    const watched = new WatchedPage(await context.newPage(), new URL(url).origin)
    try {
      await watched.page.goto(url)
    } catch (error) {
      await context.close()
      throw error
    }
    return watched
  }

  /** Waits until the stream of events is open. */
  async isLive(): Promise<void> {
    await this.page.locator('.connection[data-state="live"]').waitFor({ state: 'attached' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close()
  }
}
