-- Assets, their versions and documents.

-- name: document_get
SELECT d.body FROM document d WHERE d.account_no = acct() AND d.no = $1;
