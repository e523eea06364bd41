// Mail that was read and is for somebody else of the same life.
const MAX_KEPT = 1000; // mails: who never asks for them must not grow
/** Keeps mail until somebody asks for it. */
export class Kept {
    mails = new Map();
    keep(mails) {
        for (const mail of mails)
            if (this.mails.size < MAX_KEPT)
                this.mails.set(mail.id, mail);
    }
    /** Gives what is kept. */
    take() {
        const mails = [...this.mails.values()];
        this.mails.clear();
        return mails;
    }
}
