// Search over index.js, in the page: every word has to occur, but for small ones, or else any of them; guides, and sections whose headings have the words, come
// first. "/" goes to the field.
'use strict';
(() => {
    const base = document.body.dataset.base;
    const field = document.getElementById('search');
    const results = document.getElementById('results');
    const entries = window.redlockIndex.map(([place, title, heading, text]) => ({
        place, title, heading, text, head: `${title} ${heading}`.toLowerCase(), body: text.toLowerCase(),
    }));
    const guides = /^(choosing|failures|jobs|operating|deploying|sharing|coming-from|beside)\.html/;
    const small = new Set('a an and are as at by can do does for from how i in is it many much my of on or should the to what when which why with'.split(' '));
    let chosen = -1;

    // "Which exit codes are there?" asks for exit and code.
    const wordsOf = (text) => {
        const all = text.toLowerCase().replace(/[?!,]/g, ' ').split(/\s+/).filter(Boolean);
        const large = all.filter((word) => !small.has(word));
        return (large.length > 0 ? large : all).map((word) => (word.length > 3 ? word.replace(/s$/, '') : word));
    };

    // 0 when a word does not occur, unless any of them is enough.
    const score = (entry, words, any) => words.reduce((sum, word) => {
        if (sum === 0 && !any) return 0;
        const inHead = entry.head.includes(word);
        const times = entry.body.split(word).length - 1;
        return inHead || times ? sum + (inHead ? 40 : 0) + (entry.heading === '' && inHead ? 20 : 0) + Math.min(times, 6) : any ? sum : 0;
    }, any ? 0 : entry.place.startsWith('source/') ? 0.1 : 1) * (guides.test(entry.place) ? 1.5 : 1) * (entry.place.startsWith('source/') ? 0.3 : 1);

    const marked = (text, words) => {
        const span = document.createElement('span');
        const at = Math.max(0, Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((i) => i >= 0), text.length) - 60);
        const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'gi');
        const shown = (at > 0 ? '… ' : '') + text.slice(at, at + 180);
        let last = 0;
        for (const match of shown.matchAll(pattern)) {
            span.append(shown.slice(last, match.index));
            const mark = document.createElement('mark');
            mark.textContent = match[0];
            span.append(mark);
            last = match.index + match[0].length;
        }
        span.append(shown.slice(last));
        return span;
    };

    const item = (entry, words) => {
        const link = document.createElement('a');
        link.href = base + entry.place;
        link.setAttribute('role', 'option');
        const name = document.createElement('b');
        name.textContent = entry.heading ? `${entry.title} › ${entry.heading}` : entry.title;
        link.append(name, marked(entry.text, words));
        return link;
    };

    const choose = (number) => {
        const links = results.querySelectorAll('a');
        links.forEach((link, i) => link.setAttribute('aria-selected', String(i === number)));
        chosen = number;
        if (links[number]) links[number].scrollIntoView({ block: 'nearest' });
    };

    const search = () => {
        const words = wordsOf(field.value);
        results.hidden = words.length === 0;
        const best = (any) => entries.map((entry) => [score(entry, words, any), entry]).filter(([points]) => points > 0)
            .sort((a, b) => b[0] - a[0]).slice(0, 25);
        const found = words.length === 0 ? [] : [best(false), best(true)].find((some) => some.length > 0) || [];
        results.replaceChildren(...found.map(([, entry]) => item(entry, words)));
        if (found.length === 0) {
            const nothing = document.createElement('p');
            nothing.textContent = 'Nothing found. Try fewer words.';
            results.append(nothing);
        }
        choose(found.length > 0 ? 0 : -1);
    };

    field.addEventListener('input', search);
    field.form.addEventListener('submit', (event) => event.preventDefault());
    field.addEventListener('keydown', (event) => {
        const links = results.querySelectorAll('a');
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            choose(Math.max(0, Math.min(links.length - 1, chosen + (event.key === 'ArrowDown' ? 1 : -1))));
        } else if (event.key === 'Enter' && links[chosen]) {
            links[chosen].click();
        } else if (event.key === 'Escape') {
            field.value = '';
            search();
            field.blur();
        }
    });
    results.addEventListener('click', () => { results.hidden = true; });
    document.addEventListener('keydown', (event) => {
        if (event.key === '/' && document.activeElement !== field && !event.ctrlKey && !event.metaKey) {
            event.preventDefault();
            field.focus();
        }
    });
    const asked = new URLSearchParams(window.location.search).get('q'); // index.html?q=quarantine
    if (asked) {
        field.value = asked;
        search();
    }
    document.addEventListener('click', (event) => {
        if (!results.contains(event.target) && event.target !== field) results.hidden = true;
    });
})();
