/** A page from elsewhere, open in the same browser, learns nothing from the console and can do nothing to it. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { foreignName, ForeignSite, resolverRules } from './testing/foreign-site.ts'
import { RecordingProxy } from './testing/recording-proxy.ts'
import { Shop } from './testing/shop.ts'
import { WatchedPage } from './testing/watched-page.ts'

describe.skipIf(whyNoChromium !== undefined)(`a page from elsewhere${unlessChromium}`, () => {
  let browser: Browser
  let shop: Shop
  let foreign: ForeignSite
  let front: RecordingProxy

  beforeAll(async () => {
    ;[browser, shop, foreign] = await Promise.all([
      launchChromium({ args: [resolverRules] }),
      Shop.open(),
      ForeignSite.start(),
    ])
    front = await RecordingProxy.start(shop.url)
  })

  afterAll(async () => {
    await browser?.close()
    await foreign?.[Symbol.asyncDispose]()
    await front?.[Symbol.asyncDispose]()
    await shop?.[Symbol.asyncDispose]()
  })

  /** What the console answers to a page from elsewhere that does something with an address of it. */
  async function answersTo(
    path: string,
    attack: (page: Page, url: string) => Promise<void>,
    requests = 1,
  ): Promise<readonly number[]> {
    await using watched = await WatchedPage.open(browser, foreign.url)
    await attack(watched.page, front.url + path)
    // Awaited here: the page must be there until then.
    return await front.answersFor(path, requests)
  }

  test.each(['/', '/debug/view', '/debug/rules', '/api/live?topic=overview', '/api/login'])(
    'cannot read %s, neither openly nor blindly',
    async (path) => {
      const statuses = await answersTo(
        path,
        async (page, url) => {
          const read = (mode: RequestMode) =>
            page.evaluate(
              async ([asked, how]) => {
                try {
                  const answer = await fetch(asked, { mode: how, credentials: 'include' })
                  return `${answer.type} ${await answer.text()}`
                } catch (error) {
                  return String(error)
                }
              },
              [url, mode] as const,
            )
          expect(await read('cors')).toContain('Failed to fetch')
          expect(await read('no-cors')).toMatch(/^(opaque $|TypeError)/)
        },
        2,
      )
      expect(statuses).toEqual([403, 403])
    },
  )

  test('cannot follow its events', async () => {
    const statuses = await answersTo('/api/live?topic=overview', async (page, url) => {
      const heard = await page.evaluate(
        (live) =>
          new Promise<string>((resolve) => {
            const events = new EventSource(live, { withCredentials: true })
            events.addEventListener('about', () => resolve('about'))
            events.addEventListener('error', () => {
              events.close()
              resolve('error')
            })
          }),
        url,
      )
      expect(heard).toBe('error')
    })
    expect(statuses).toEqual([403])
  })

  test.each(['/api/login', '/api/demo', '/debug/view'])('cannot send a form to %s', async (path) => {
    const statuses = await answersTo(path, (page, url) =>
      page.evaluate((action) => {
        const form = document.createElement('form')
        form.method = 'post'
        form.enctype = 'text/plain'
        form.action = action
        const field = document.createElement('input')
        // The old trick to write JSON with a form.
        field.name = '{"kind":"api-server","to":"off","x":"'
        field.value = '"}'
        form.append(field)
        document.body.append(form)
        form.submit()
      }, url),
    )
    expect(statuses).toEqual([403])
  })

  test.each([
    ['iframe', 'src', '/'],
    ['iframe', 'src', '/services'],
    ['img', 'src', '/'],
    ['object', 'data', '/'],
    ['script', 'src', '/debug/view'],
    ['script', 'src', 'its script'],
    ['link', 'href', 'its script'],
  ] as const)('cannot load it as %s (%s %s)', async (kind, attribute, path) => {
    const script = /"(\/assets\/[^"]*\.js)"/.exec(await (await fetch(shop.url)).text())?.[1] ?? ''
    const statuses = await answersTo(path === 'its script' ? script : path, (page, url) =>
      page.evaluate(
        ([tag, name, address]) => {
          const element = document.createElement(tag)
          element.setAttribute(name, address)
          if (tag === 'link') element.setAttribute('rel', 'stylesheet')
          document.body.append(element)
        },
        [kind, attribute, url] as const,
      ),
    )
    expect(statuses).toEqual([403])
  })

  test('may link to it, and then has no hold on the new window', async () => {
    await using watched = await WatchedPage.open(browser, foreign.url)
    const { page } = watched
    const opened = page.context().waitForEvent('page')
    await page.evaluate((address) => Object.assign(globalThis, { opened: open(address) }), `${front.url}/services`)
    const shown = await opened
    await shown.getByRole('heading', { level: 1, name: 'Services' }).waitFor()
    expect(await shown.evaluate(() => globalThis.opener === null)).toBe(true)
    // It looks as if it were closed.
    expect(await page.evaluate(() => (globalThis as unknown as { opened: Window }).opened.closed)).toBe(true)
  })

  test('cannot come under a name of its own that leads to this machine', async () => {
    await using watched = await WatchedPage.open(browser, 'about:blank')
    const url = front.url.replace('127.0.0.1', foreignName)
    for (const path of ['/', '/debug/view', '/api/live?topic=overview']) {
      const answer = await watched.page.goto(url + path)
      expect(answer?.status()).toBe(403)
      expect(await answer?.text()).toContain(`the Host header names "${new URL(url).host}"`)
    }
  })
})
